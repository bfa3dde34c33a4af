Vlak do Brna měl kvůli sněhu dvě hodiny zpoždění.
Starosta slíbil, že most opraví do konce roku.
Děti si u školy zasadily malou zahradu.
Lékaři doporučují pít v horku více vody.
Muzeum otevře novou výstavu o starých hodinách.
Cena jablek letos vzrostla téměř o pětinu.
Turisté našli v lese ztraceného psa.
