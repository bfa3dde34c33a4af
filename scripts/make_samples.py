"""Write the sample datasets that come with the package.

Every row below is made up for this package: the files have the formats of the real
datasets, byte for byte (encoding, separators, quoting, number formats, odd cases), and
none of their sentences. They let the readers, the tasks and the tests run without a
download. They measure nothing.

Run it from a checkout, with `xlwt` installed (`pip install xlwt`; only this script needs it):

    python scripts/make_samples.py

It rewrites `mteb_ext/data/samples/`. A second run gives identical bytes: the zip members
are stored with a fixed date, and xlwt writes no date.
"""
# Short Cyrillic, Arabic and full-width words in the rows look like Latin letters to the linter.
# ruff: noqa: RUF001

from __future__ import annotations

import csv
import io
import struct
import zipfile
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent.parent / "mteb_ext" / "data" / "samples"

# --------------------------------------------------------------------------------------
# JACSTS: s1, s2, gold 0-5
# --------------------------------------------------------------------------------------

JACSTS = [
    ("術後三日目に発熱を認めたが,翌日には解熱した", "手術の三日後に熱が出て,次の日に下がった", 5),
    ("右膝の可動域は退院時に改善していた", "退院の時点で右膝の可動域は良くなっていた", 5),
    ("内服は朝夕の二回とした", "飲み薬は一日二回,朝と夕に服用とした", 5),
    ("夜間の咳で眠れない日が続いていた", "夜になると咳が出て,眠れない日々であった", 5),
    # The same sentence twice.
    ("食欲は保たれており,眠りも深かった", "食欲は保たれており,眠りも深かった", 5),
    # Full-width digits and letters: changes under NFKC.
    ("体重は６か月で４ｋｇ落ちていた", "体重は半年で約4kg落ちた", 5),
    ("杖を使えば屋外を二百メートル歩けた", "屋外では杖で約二百メートル移動できた", 4),
    ("左手のしびれは三週間で軽くなった", "左手のしびれは約一か月で軽くなった", 4),
    ("朝の体温は36.8度で,脈も整っていた", "朝は36.9度で脈の乱れもなかった", 4),
    ("傷口に赤みや腫れはみられない", "傷口はきれいで,赤みもなく順調である", 4),
    ("家族と本人に治療の流れを話した", "本人に検査の流れを話した", 3),
    ("吸入薬を始めてから発作の回数が減った", "飲み薬を変えてから発作の回数が減った", 3),
    ("昼食の後に血糖値が上がりやすい", "夕食の前に血糖値が下がりやすい", 3),
    ("右肩が痛く上着を脱ぎにくい", "左肩が痛く髪を洗いにくい", 3),
    ("鼻づまりに点鼻薬を出した", "目のかゆみに点眼薬を出した", 2),
    ("薬疹を疑い,その日から服薬をやめた", "飲み忘れが多く,服薬の時刻を見直した", 2),
    ("歯ぐきの出血は歯磨きの指導で止まった", "歯磨きの指導は月に一度であった", 2),
    # White space at an edge (an ideographic space, which NFKC changes as well).
    ("\u3000検査食は残さず食べられた", "検査食は半分ほど残した", 2),
    ("階段を昇ると息が切れる", "階段では手すりを使うよう勧めた", 1),
    ("高い音が聞き取りにくいと言う", "右の視力だけが下がったと言う", 1),
    ("入院中は毎朝体重を測った", "退院してからは月に一度通っている", 1),
    ("背中の湿疹に軟膏を塗った", "足の爪が変形し靴が合わない", 1),
    ("転んで手首を痛め,添え木をあてた", "花粉の季節は目のかゆみが強い", 0),
    ("乳歯がまだ二本残っている", "いびきが大きいと家族に言われた", 0),
    ("水分を多めにとるよう伝えた", "脳波の波形に乱れはなかった", 0),
    ("夜の尿の回数が増えてきた", "義足の長さを二度調整した", 0),
    # Two pairs that come twice, with different gold.
    ("めまいは横になると治まった", "横になって休むとめまいは消えた", 5),
    ("ふくらはぎのむくみが夕方に目立つ", "足のむくみは朝には目立たない", 3),
    ("めまいは横になると治まった", "横になって休むとめまいは消えた", 4),
    ("ふくらはぎのむくみが夕方に目立つ", "足のむくみは朝には目立たない", 2),
]

# --------------------------------------------------------------------------------------
# QABot: one pool of (question, answer); per query its text, the relevant questions and
# the question that is missing from its candidate list (numbers count from 1; 0 is none)
# --------------------------------------------------------------------------------------

QABOT_POOL = [
    (
        "学生証をなくしました。再発行はどこで申し込めますか。",
        "学務係の窓口で申し込めます。\n手数料と写真が一枚必要です。",
    ),
    ("履修登録の締め切りはいつですか。", "学期が始まって二週間目の金曜日です。"),
    (
        "図書館の開館時間を教えてください。",
        "平日は8時半から20時まで,土曜は17時までです。\r\n試験期間は延長します。",
    ),
    ("成績証明書はどうすれば発行できますか。", "自動発行機で受け取れます。"),
    (
        "授業を欠席するときの連絡先はどこですか。",
        "担当の教員に直接連絡してください。\n窓口では受け付けていません。",
    ),
    ("奨学金の申請に必要な書類は何ですか。", "申請書,所得の証明,成績表の三つです。"),
    (
        "大学の無線LANにつながりません。\nどうすればよいですか。",
        "いったん設定を消して,もう一度つないでください。",
    ),
    ("パスワードを忘れてしまいました。", "本人確認の後,情報センターで再設定します。"),
    ("留学の説明会はいつ開かれますか。", "毎年5月と10月に開かれます。\n\n申し込みは不要です。"),
    ("レポートの提出方法を教えてください。", '件名を"レポート提出"とし,PDFで送ってください。'),
    ("駐輪場を使うには登録が要りますか。 ", "登録が要ります。シールを自転車に貼ってください。"),
    ("卒業論文の題目を変更できますか。", "11月末までなら,届けを出せば変更できます。"),
    ('病気で試験を休んだ場合, "追試"はありますか。', "診断書があれば受けられます。"),
]

QABOT_QUERIES = [
    ("学生証を紛失したときの手続きが知りたい", {1}, 9),
    ("講義の登録はいつまでにすればいいの？", {2}, 11),
    ("図書館は何時まで開いていますか", {3}, 0),
    ("ネットにログインできないときはどうする", {7, 8}, 3),
    ("体調が悪くて授業や試験に出られない", {5, 13}, 11),
    ("就職活動に使う証明書がほしい", {4}, 7),
    ("学費の支援を受けるには何を出せばいいか", {6}, 2),
    ("申し込みや登録が必要なものをまとめて知りたい", {1, 6, 11}, 0),
]

# --------------------------------------------------------------------------------------
# WikiQA: documents (number: title, sentences); per split (question id, question, document
# number, positions of the correct sentences). Questions on the same document share its
# sentence ids, as in the corpus.
# --------------------------------------------------------------------------------------

WIKIQA_DOCUMENTS = {
    1: (
        "Kite mill",
        [
            "A kite mill in the Orvane valley",
            "A kite mill is a small mill that is driven by a tethered kite .",
            "The oldest kite mill still grinds barley every autumn .",
            "Most kite mills were replaced by water mills .",
        ],
    ),
    2: (
        "Sorrel tea",
        [
            "Sorrel tea is made from the dried leaves of the red sorrel .",
            '"Sorrel tea should never boil, the old cookbook warns .',
            "It is served cold with honey in the southern towns .",
            '"Two spoons are enough for a pot, says the same book .',
            "The drink has a sour taste and a pink colour .",
        ],
    ),
    3: (
        "Ninth Street Station",
        [
            "Ninth Street Station is a tram stop in the centre of Ostry .",
            "The station was opened in 1954 .",
            "About 3,000 passengers use it every day .",
        ],
    ),
    4: (
        "Lake Orvane",
        [
            "Lake Orvane is a freshwater lake in the north of Tessland .",
            "Three mountain streams feed the lake .",
            "Its greatest depth is 84 metres .",
            "In winter the ice lasts for about ten weeks .",
            "Lake Orvane is also the name of a local newspaper .",
        ],
    ),
    5: (
        "Brell (card game)",
        [
            "Brell is a card game for three players .",
            "Each player gets nine cards and one card is turned up .",
            "The player with the lowest sum wins the round .",
            "Brell cards are often painted by hand .",
        ],
    ),
    6: (
        "Moss clock",
        [
            "A moss clock shows the season by the colour of its moss .",
            "The first moss clock was planted in a school yard .",
        ],
    ),
    7: (
        "Hollen cheese",
        [
            "Hollen cheese wheels on a market stall",
            "Hollen is a hard cheese made from the milk of mountain goats .",
            "The cheese ripens for fourteen months in limestone caves .",
            "Hollen is cut with a wire, never with a knife .",
            "A wheel of the cheese weighs about nine kilograms .",
        ],
    ),
    8: (
        "Signal tower",
        [
            "Signal towers stood along the coast at a distance of one hour's walk .",
            "At night the guards lit a fire on the roof .",
            "By day they used large painted boards .",
        ],
    ),
    11: (
        "Pellan Bridge",
        [
            '"Pellan Bridge, seen from the ferry landing',
            "Pellan Bridge carries two lanes of traffic across the river Ost .",
            "The engineers of the harbour board drew the plans .",
            "Work began in 1931 and the bridge opened in 1934 .",
            '"The last ferry sailed on the day the bridge opened .',
        ],
    ),
    17: (
        "Tamber drum",
        [
            "A tamber drum is a small hand drum with a wooden frame .",
            "The tamber drum is played with two fingers and a thin stick .",
        ],
    ),
    25: (
        "Lantern Week",
        [
            "Lantern Week is held in Ostry at the end of October .",
            "Children carry paper lanterns through the old town .",
            "The week ends with a concert on the ice rink .",
        ],
    ),
    31: ("Wick trimmer", ["A wick trimmer cuts the burnt end off the wick of a candle ."]),
    38: (
        "Vask Castle",
        [
            "Vask Castle in summer",
            "Vask Castle stands on a hill above the town of Vask .",
            "The castle has 62 rooms and four towers .",
            "Vask Castle in summer",
            "It has been open to visitors since 1978 .",
        ],
    ),
    44: (
        "Snowfence",
        [
            "A snow\u00adfence makes drifting snow settle in a chosen place .",
            "The boards of a fence are set a hand's width apart .",
            "Farmers take the fences down when the snow has melted .",
        ],
    ),
    52: (
        "Velm stone",
        [
            "Velm stone is quarried in two villages .",
            "Fresh velm stone is pale green .",
            'The stone is called "frog slate" by the quarrymen .',
            "After some years in the open the stone turns grey .",
            "Velm stone was used for the steps of the town hall .",
        ],
    ),
    58: (
        "Blue Harbor (song)",
        [
            '"Blue Harbor" is a song about a ship that does not come home .',
            "The words and the tune were written by a harbour pilot .",
            "The song was first heard on the radio in 1962 .",
            "Blue Harbor is also the name of a hotel .",
        ],
    ),
    70: (
        "Tessland",
        [
            "Tessland is an island country with nine provinces .",
            "The capital of Tessland is Ostry .",
            "Fishing and wool are its main trades .",
            "Most of the people speak Tessish, and some speak Low Tessish .",
        ],
    ),
}

WIKIQA = {
    "train": [
        ("Q1", "what is a kite mill", 1, {1}),
        ("Q3", "how is sorrel tea served?", 2, {2}),
        ("Q6", "what does sorrel tea taste like", 2, {4}),
        ("Q10", "when was ninth street station opened", 3, {1}),
        ("Q12", "who designed ninth street station", 3, set()),
        ("Q15", "What is a moss clock?", 6, {0}),
    ],
    "dev": [
        ("Q8", "how many players do you need for brell", 5, {0}),
        ("Q13", "how do you win a round of brell", 5, {2}),
        ("Q20", "what is hollen cheese made of", 7, {1}),
        ("Q22", "how long does hollen cheese ripen", 7, {2}),
        ("Q28", "how did signal towers send messages", 8, {1, 2}),
        ("Q33", "when was the last signal tower closed", 8, set()),
    ],
    "test": [
        ("Q0", "WHERE IS LAKE ORVANE", 4, {0}),
        ("Q4", "how deep is lake orvane", 4, {2}),
        ("Q11", "when was pellan bridge opened", 11, {3}),
        ("Q17", "what is a tamber drum", 17, {0, 1}),
        ("Q19", "who invented the tamber drum", 17, set()),
        ("Q25", "how many people visit lantern week", 25, set()),
        ("Q31", "what does a wick trimmer do", 31, {0}),
        ("Q38", "how many rooms does vask castle have?", 38, {2}),
        ("Q44", "what is a snowfence for", 44, {0}),
        ("Q52", "what color is velm stone", 52, {1, 3}),
        ("Q58", "who wrote the song blue harbor", 58, {1}),
        ("Q70", "what language do people speak in tessland", 70, {3}),
    ],
}

# --------------------------------------------------------------------------------------
# TREC-QA: (block id, question, positives as (sentence, answer tokens), negatives). One blank
# separates the tokens; quotes and brackets are the Penn Treebank's. "#" separates answers.
# --------------------------------------------------------------------------------------

TREC_DEV = [
    (
        "1.1",
        "Where was the painter Ada Morrow born ?",
        [
            ("Morrow was born in the port of Lisk and painted ships all her life .", ["Lisk"]),
            ("Lisk , where Ada Morrow was born , named a street after her .", ["Lisk"]),
        ],
        [
            "The painter lived above a bakery for thirty years .",
            "<num> of her paintings were sold by Crane & Holt last spring .",
        ],
    ),
    ("1.2", "What did Ada Morrow paint last ?", [], []),
    (
        "2.1",
        "How tall is the Corran lighthouse ?",
        [("At 41 metres , the Corran lighthouse is the tallest on the coast .", ["41", "metres"])],
        [
            "The Corran lighthouse was painted red in May .",
            "`` Nobody has lived in the lighthouse since the war , '' the mayor said .",
            "The lighthouse keeper kept bees .",
        ],
    ),
    (
        "2.2",
        "Who looks after the Corran lighthouse ?",
        [("A club of retired sailors looks after the Corran lighthouse .", ["sailors"])],
        [],
    ),
    (
        "3.1",
        "What does the firm Dunmore & Sons make ?",
        [
            (
                "Dunmore & Sons makes oars , and sells the sawdust to potters .",
                ["oars", "#", "sawdust"],
            )
        ],
        [
            "The oldest of the Dunmore sons is now a judge .",
            "Dunmore & Sons employs <num> people .",
        ],
    ),
]

TREC_TEST = [
    (
        "41.1",
        "When was the Harlen Observatory built ?",
        [
            ("The Harlen Observatory , built in 1908 , still uses its old telescope .", ["1908"]),
            ("Work on the Harlen Observatory ended in 1908 .", ["1908"]),
        ],
        [
            "The observatory lies <num> metres above the sea .",
            "Orrin & Vale cast the dome of the Harlen Observatory .",
            "School classes visit the observatory on Fridays .",
        ],
    ),
    (
        "41.2",
        "How many telescopes does it have ?",
        [("It has three telescopes and a small library .", ["three"])],
        ["The largest telescope came by ship .", "It was a cold and clear night ."],
    ),
    ("41.3", "Which asteroid was found there ?", [], []),
    (
        "42.1",
        "What is the Marrow Cup awarded for ?",
        [
            ("The Marrow Cup goes to the gardener with the heaviest pumpkin .", ["pumpkin"]),
            ("She won the Marrow Cup for a pumpkin that filled a cart .", ["pumpkin"]),
        ],
        [],
    ),
    (
        "42.2",
        "Who gave the first Marrow Cup ?",
        [],
        [
            "The Marrow Cup is kept in the town hall .",
            "The cup was stolen twice and found twice .",
        ],
    ),
    (
        "43.1",
        "How long is the Teal Canal ?",
        [("The Teal Canal , 96 kilometres long , froze in January .", ["96", "kilometres"])],
        [
            "The canal was dug by hand .",
            "<num> barges pass the first lock every week .",
            "Long before the canal there was a road .",
            "The Teal Canal is a canal for small boats .",
        ],
    ),
    (
        "43.2",
        "Which towns does the Teal Canal connect ?",
        [("The canal connects Brae and Muir .", ["Brae", "#", "Muir"])],
        [
            "The towns along the Teal Canal hold a fair in June .",
            "Both towns -LRB- and the lock between them -RRB- are small .",
        ],
    ),
    (
        "44.1",
        "Who owns the newspaper The Ostry Post ?",
        [
            ("Its printers bought The Ostry Post from a bank last year .", ["printers"]),
            ("The Ostry Post belongs to its printers .", ["printers"]),
            ("`` We own the newspaper now , '' the printers wrote .", ["printers"]),
        ],
        ["The newspaper costs two marks on Sundays ."],
    ),
    (
        "44.2",
        "Where is The Ostry Post printed ?",
        [("The Ostry Post is printed in an old barn near Lisk .", ["barn"])],
        [],
    ),
    (
        "45.1",
        "What colour are the trams of Ostry ?",
        [("The trams of Ostry have been yellow since 1954 .", ["yellow"])],
        [
            "The trams of Ostry stop at midnight .",
            "The drivers of the trams wear grey .",
            "A tram ticket costs less than a loaf of bread .",
        ],
    ),
]

TREC_TRAIN = [
    (
        "1",
        "Who discovered the Kell caves ?",
        [("Two shepherds discovered the Kell caves in a hard winter .", ["shepherds"])],
        ["The Kell caves are <num> years old .", "Bats sleep in the caves ."],
    ),
    (
        "2",
        "What is the longest cave ?",
        [],
        ["The guide leads a tour every hour .", "Reed & Daughters sell lamps to the visitors ."],
    ),
    (
        "3",
        "When does the apple market begin ?",
        [
            ("The apple market begins in September .", ["September"]),
            ("In September the apple market begins with a parade .", ["September"]),
        ],
        ["The market had to move twice .", "Apple juice is pressed behind the church ."],
    ),
    (
        "4",
        "How many people live on Gannet Island ?",
        [("Only 14 people live on Gannet Island .", ["14", "people"])],
        ["Gannet Island has a school & a shop ."],
    ),
]

TREC = {"DEV": TREC_DEV, "TEST": TREC_TEST, "TRAIN": TREC_TRAIN}

# --------------------------------------------------------------------------------------
# SemEval-2017 Task 1: (first column, second column, gold). Tracks 2, 4b and 6 have the
# English sentence first. Track 6 has input lines without gold.
# --------------------------------------------------------------------------------------

STS17_TRACK1 = [
    ("طفل يلعب بالكرة في الحديقة.", "ولد صغير يلعب بكرة في المتنزه.", 4.2),
    ("امرأة تقرأ رسالة قرب النافذة.", "امرأة تقرأ رسالة قرب النافذة.", 5.0),
    ("القطة نائمة فوق الكرسي.", "الكلب يركض خلف الشاحنة.", 0.4),
    ("رجل يطبخ السمك في البيت.", "رجل يأكل السمك في المطعم.", 2.2),
    ("ثلاث فتيات يغنين على المسرح.", "تغني ثلاث فتيات أمام الجمهور.", 4.0),
    ("الشارع خال والمطر غزير.", "الشارع خال بسبب المطر.", 3.4),
    ("يركب الفتى دراجة زرقاء.", "يصلح الفتى دراجة قديمة.", 1.8),
    # White space at an edge.
    ("عامل يحمل صندوقا ثقيلا ", "طبيبة تكتب رسالة قصيرة.", 0.2),
]

STS17_TRACK2 = [
    ("A girl is drawing 3 tall trees.", "فتاة ترسم 3 أشجار طويلة.", 5.0),
    ("Two boys are washing a green car.", "ولدان يغسلان سيارة.", 4.2),
    ("The baker is selling bread.", "الخباز يخبز الخبز.", 2.8),
    ("An old man has missed the last bus.", "سيدة عجوز تنتظر القطار الأول.", 1.8),
    ("A dog drinks from the bowl.", "كلب يشرب الماء من الإناء.", 4.4),
    ("The twins have gone to sleep.", "التوأمان يرسمان على الجدار.", 1.2),
    ("A woman is watering her roses.", "رجل يقود شاحنة كبيرة.", 0.2),
    # A no-break space.
    ("Families are walking by the sea.", "عائلات تمشي على\u00a0الشاطئ.", 3.8),
]

STS17_TRACK3 = [
    (
        "La vecina riega las macetas del balcón.",
        "La vecina echa agua a las plantas del balcón.",
        4.6,
    ),
    ("Un cartero deja una carta en el buzón.", "Un cartero deja una carta en el buzón.", 5.0),
    ("El abuelo toca el acordeón en el patio.", "El abuelo escucha la radio en el patio.", 2.0),
    ("Dos amigas suben al monte con mochilas.", "Dos amigas bajan del monte en bicicleta.", 2.4),
    ("El gato duerme encima del baúl.", "Hay un gato dormido sobre el baúl.", 4.4),
    ("La niña pinta una casa amarilla.", "El camarero recoge las mesas vacías.", 0.2),
    ("Un barco pequeño cruza la bahía.", "Un barco entra en el puerto.", 2.8),
    ("Los músicos guardan sus instrumentos.", "Los turistas compran recuerdos.", 0.8),
]

STS17_TRACK4A = [
    ("Una mujer corta el pelo a su hijo.", "A mother is cutting her son's hair.", 4.8),
    ("El panadero abre la tienda temprano.", "The baker opens the shop early.", 5.0),
    ("Tres niñas hacen un muñeco de nieve.", "Three girls are busy in the snow.", 3.4),
    ("Un señor lee el periódico en el tren.", "A man has fallen asleep on the train.", 1.6),
    ("El perro salta la valla del huerto.", "The dog is burying a bone under a tree.", 1.4),
    ("La profesora escribe en la pizarra.", "A teacher is writing on the board.", 4.6),
    ("Una pareja baila en la plaza.", "A couple is having dinner at home.", 1.0),
    ("El ciclista repara una rueda.", "The clouds are covering the moon.", 0.0),
]

STS17_TRACK4B = [
    (
        "The city council will vote on the new tram line next Tuesday.",
        "El ayuntamiento votará sobre la nueva línea de tranvía el próximo martes.",
        5,
    ),
    (
        '"We did not expect so many guests in the first week, the owner of the inn said.',
        '"No esperábamos tantos huéspedes en la primera semana, dijo la dueña de la posada.',
        5,
    ),
    (
        "Farmers in the valley harvested a third less wheat than last year.",
        "Los agricultores del valle cosecharon un tercio de trigo que el año pasado.",
        3,
    ),
    (
        '"The bridge is safe, but it needs paint, the engineer told the villagers.',
        "El puente es caja fuerte, pero necesita pintura, el ingeniero dijo a los vecinos.",
        3,
    ),
    (
        "The cannery plans to close two of its warehouses before the summer.",
        "La conservera planea cerrar dos de sus almacenes antes del verano.",
        5,
    ),
    (
        "Rain delayed the rowing final for almost three hours.",
        "La lluvia retrasó la final de remo por casi tres horas.",
        5,
    ),
    (
        "Rents in the old town have risen for five years in a row.",
        "Rentas en el viejo ciudad tener subido cinco años en fila.",
        2,
    ),
    (
        "The orchestra will play its last concert under the current conductor in June.",
        "La orquesta jugará su último concierto bajo el actual conductor en junio.",
        4,
    ),
]

STS17_TRACK5 = [
    ("A boy is flying a kite on the dunes.", "A child flies a kite near the sea.", 3.8),
    ("The old woman is feeding pigeons.", "An elderly lady gives bread to the pigeons.", 4.0),
    ("A mechanic is fixing a motorbike.", "A mechanic is riding a motorbike.", 2.0),
    ("Two friends share an umbrella.", "Two friends are standing under one umbrella.", 4.4),
    ("The train has left the station.", "A goat is standing on a flat rock.", 0.0),
    ("A waiter carries four plates of soup.", "A cook is stirring a pot of soup.", 1.6),
    ("The tent is next to a small river.", "There is a tent beside a little river.", 5.0),
    ("A girl in a red coat is skating.", "A girl in a red coat is knitting.", 1.8),
]

STS17_TRACK6 = [
    ("A boy is eating a green apple.", "Bir çocuk yeşil elma yiyor.", 4.8),
    ("The woman is opening the window.", "Kadın pencereyi kapatıyor.", 2.2),
    ("Two cats are sleeping on the roof.", "İki kedi çatıda uyuyor.", 5.0),
    ("A man is repairing a chair.", "Adam bir sandalyede oturuyor.", 1.4),
    ("Pupils are running in the garden.", "Öğrenciler bahçede oynuyor.", 3.2),
    ("A fisherman is mending his net.", "Balıkçı ağını onarıyor.", 4.6),
    ("The fish market opens at 8.", "Balık pazarı saat 8'de açılıyor.", 4.4),
    ("A nurse is drinking tea.", "Yağmur sabaha kadar yağdı.", 0.2),
    ("A girl is painting a fence.", "Bir kız çiti boyuyor.", 4.8),
    ("Two men are carrying a table.", "İki adam bir masa taşıyor.", 5.0),
    ("A bird sits on the wire.", "Telde üç kuş var.", 3.0),
    ("A boy eats 2 apples.", "Bir çocuk 2 armut yiyor.", 2.6),
    ("The market is full of people.", "Pazar yeri bomboş.", 1.2),
    ("A man is fixing a bicycle.", "Bir kadın radyo dinliyor.", 0.0),
    ("A goat is standing on a rock.", "Bir keçi kayanın üstünde duruyor.", 5.0),
    ("Children are running down a hill.", "Çocuklar tepeden aşağı yürüyor.", 3.6),
    ("A woman is pouring tea.", "Bir kadın kahve içiyor.", 1.8),
    ("The bus number 12 is late.", "12 numaralı otobüs gecikti.", 4.6),
    ("A fisherman is mending a net.", "Balıkçı ağını denize atıyor.", 2.2),
    ("A clown is juggling oranges.", "Kütüphane pazartesi kapalı.", 0.2),
    ("The teacher closed the thick book.", "Öğretmen kalın kitabı kapattı.", None),
    ("A bird is singing in the fig tree.", "İncir ağacında bir kuş ötüyor.", None),
    ("The bus is late again.", "Otobüs yine geç kaldı.", None),
    ("My sister bought a blue scarf.", "Kız kardeşim mavi bir atkı aldı.", None),
    ("The baker is cleaning the oven.", "Fırıncı ekmek satıyor.", None),
    ("Snow covered the whole village.", "Bütün köy karla kaplandı.", None),
    ("Two men are carrying a table.", "İki adam masa taşıyor.", None),
    ("The lamp on the desk is broken.", "Masadaki lamba yeni.", None),
    ("A dog is digging in the garden.", "Bahçede bir köpek kazıyor.", None),
    ("A train crosses a bridge.", "Bir tren köprüden geçiyor.", None),
    ("A man is reading a map.", "Bir adam haritaya bakıyor.", None),
    ("The well is dry.", "Kuyuda su kalmamış.", None),
    ("A woman is picking olives.", "Bir kadın zeytin topluyor.", None),
    ("Two cats are asleep.", "İki kedi oynuyor.", None),
    ("The lamp is broken.", "Lamba yeni alındı.", None),
    ("A boat leaves the harbour.", "Tekne limana giriyor.", None),
    ("A baker is opening the shop.", "Fırıncı dükkânı açıyor.", None),
    ("Snow covers the road.", "Yol karla kaplı.", None),
    ("A child is counting stones.", "Bir çocuk taş atıyor.", None),
    ("An old man is sweeping leaves.", "Yaşlı bir adam yaprakları süpürüyor.", None),
]

STS17 = {
    "track1.ar-ar": STS17_TRACK1,
    "track2.ar-en": STS17_TRACK2,
    "track3.es-es": STS17_TRACK3,
    "track4a.es-en": STS17_TRACK4A,
    "track4b.es-en": STS17_TRACK4B,
    "track5.en-en": STS17_TRACK5,
    "track6.tr-en": STS17_TRACK6,
}

# --------------------------------------------------------------------------------------
# STS Benchmark: "genre file year index score" (the score as it is written), sentence1,
# sentence2, then attribution columns in some rows. Track 5 above is part of dev and test.
# --------------------------------------------------------------------------------------

MONITOR = ("Example News Monitor (http://example.org/news)",) * 2


def _forum(first: int, second: int) -> tuple[str, ...]:
    return tuple(
        f"Example Exchange: http://example.org/questions/{n} "
        f"Author: reader{n} (http://example.org/users/{n})"
        for n in (first, second)
    )


def _track5(index: int) -> tuple[str, ...]:
    first, second, score = STS17_TRACK5[index]
    return (f"main-captions track5.en-en 2017 {index:04d} {score:.6f}", first, second)


STSB_TRAIN = [
    (
        "main-captions MSRvid 2012test 0001 4.600",
        "A woman is folding up blankets.",
        "A woman folds some small blankets.",
    ),
    (
        "main-captions MSRvid 2012train 0007 0.000",
        "A sailor goes up a rope ladder.",
        "A monkey has stolen a mango.",
    ),
    (
        "main-captions images 2014 0012 2.2",
        "A grey horse behind a wooden gate.",
        "A brown horse in front of a barn.",
    ),
    (
        "main-captions images 2015 0020 4.60",
        "Two canoes tied to a jetty.",
        "A pair of canoes at a jetty.",
    ),
    (
        "main-forum deft-forum 2014 0003 3.8",
        '"So nobody looked at the cable, not even once.',
        "Nobody ever looked at the cable.",
    ),
    (
        "main-forum deft-forum 2014 0004 1.4",
        "My printer only works on rainy days.",
        "His printer never works.",
    ),
    (
        "main-forum deft-forum 2014 0009 1.53333333333333",
        '"I sold the bike and bought a raft.',
        "He sold a raft and bought a bike.",
    ),
    (
        "main-forum deft-forum 2014 0031 4.2",
        " and then the screen went dark.",
        "Then the screen turned black.",
    ),
    (
        "main-news MSRpar 2012train 0002 3.750",
        "Shares of the ferry company rose 4 percent on Monday.",
        "The ferry company's shares gained 4 percent, their best day this year.",
    ),
    (
        "main-news deft-news 2014 0005 4.4",
        "the mayor met the miners on friday. ",
        "on friday the mayor talked with the miners.",
    ),
    (
        "main-news headlines 2013 0014 4.8",
        "Storm leaves Gannet Island in the dark",
        "Gannet Island without power after storm",
    ),
    (
        "main-news headlines 2016 0033 1",
        "Court delays ruling on harbour tunnel",
        "Harbour tunnel opens to cyclists",
        *MONITOR,
    ),
]

STSB_DEV = [
    (
        "main-captions MSRvid 2012train 0004 2.750",
        "A cook is trimming radishes.",
        "A cook is slicing leeks.",
    ),
    (
        "main-captions images 2014 0016 0.2",
        "A sailing boat under a grey sky.",
        "A baby with a spoon in its hand.",
    ),
    _track5(0),
    _track5(2),
    _track5(4),
    _track5(6),
    (
        "main-forums answers-forums 2015 0001 0.60",
        "You could ask the owner of the workshop.",
        "I never water mine before May.",
    ),
    (
        "main-forums answers-forums 2015 0011 3.40",
        '"It depends on the soil, as always.',
        "That depends on your soil and on the rain.",
    ),
    (
        "main-forums answers-forums 2015 0015 5.00",
        "Try a smaller needle.",
        "A smaller needle is worth a try.",
    ),
    (
        "main-news MSRpar 2012test 0008 2.400",
        '"The mill will stay open, the foreman said on Thursday.',
        "On Thursday the foreman said that 40 workers would leave the mill.",
    ),
    (
        "main-news headlines 2014 0017 1.2",
        "Ostry trams stop over pay",
        "Ostry trams get new seats",
    ),
    (
        "main-news headlines 2016 0040 4",
        "Oldest oak in Tessland falls",
        "Tessland loses its oldest oak",
        *MONITOR,
    ),
]

STSB_TEST = [
    (
        "main-captions MSRvid 2012test 0024 4.250",
        "A girl is combing a doll's hair.",
        "A girl combs the hair of her doll.",
    ),
    (
        "main-captions MSRvid 2012train 0029 0.800",
        "A man is greasing a rusty hinge.",
        "A man is painting a garden gate.",
    ),
    (
        "main-captions images 2014 0041 3.2",
        "Three hens in a dusty yard.",
        "Some hens are pecking in a yard.",
    ),
    (
        "main-captions images 2015 0050 0.00",
        "A blue bus in heavy traffic.",
        "A hiker on top of a cliff.",
    ),
    _track5(1),
    _track5(3),
    _track5(5),
    _track5(7),
    (
        "main-forums answer-answer 2016 0002 5",
        "Soak the beans overnight.",
        "Leave the beans in water overnight. ",
        *_forum(11, 12),
    ),
    (
        "main-forums answer-answer 2016 0009 4",
        "It is mostly a matter of practice.",
        "Most of it comes with practice.",
        *_forum(13, 14),
    ),
    (
        "main-forums answer-answer 2016 0013 3",
        '"Write the outline first, then the letter.',
        "Write an outline before you begin.",
        *_forum(15, 16),
    ),
    (
        "main-forums answer-answer 2016 0021 2",
        "You can glue the handle at home.",
        "You can buy a new handle for little money.",
        *_forum(17, 18),
    ),
    (
        "main-forums answer-answer 2016 0022 1",
        '"Ask your landlord, not the internet.',
        "Ask your dentist about the chipped tooth.",
        *_forum(19, 20),
    ),
    (
        "main-forums answer-answer 2016 0030 0",
        "The violin needs a new string.",
        "My tomatoes split after the rain.",
        *_forum(21, 22),
    ),
    (
        "main-forums answer-answer 2016 0034 0",
        "Keep the receipt for two years.",
        "Stretch before you run.",
        *_forum(23, 24),
    ),
    (
        "main-forums answer-answer 2016 0047 4",
        "Yes, but only with a permit.",
        "Yes, as long as you have a permit.",
        *_forum(25, 26),
    ),
    (
        "main-news MSRpar 2012test 0001 4.667",
        "The bank said it would open nine branches in the spring.",
        "Nine branches will open in the spring, the bank said.",
    ),
    (
        "main-news MSRpar 2012test 0006 3.200",
        '"It was the coldest night since 1987, the weather office said.',
        "The weather office counted 14 cold nights this winter.",
    ),
    (
        "main-news MSRpar 2012train 0010 1.750",
        "The strike at the glass works ended after eleven days.",
        "The glass works will hire eleven apprentices.",
    ),
    (
        "main-news headlines 2013 0018 5",
        "Bear walks into Ostry bakery",
        "Bear enters bakery in Ostry",
    ),
    (
        "main-news headlines 2014 0019 2.6",
        '"Bread war" in Ostry ends',
        '"Bread war" in Ostry: bakers to meet',
    ),
    (
        "main-news headlines 2015 0027 0.2",
        "Lake ferry back in service",
        "Poll: most voters undecided",
    ),
    (
        "main-news headlines 2016 0044 3",
        "Two climbers rescued from Mount Corran",
        "Climbers missing on Mount Corran",
        *MONITOR,
    ),
    (
        "main-news headlines 2016 0051 0",
        "Violin found after forty years",
        "Wheat price falls again",
        *MONITOR,
    ),
]

STSB = {"train": STSB_TRAIN, "dev": STSB_DEV, "test": STSB_TEST}

# --------------------------------------------------------------------------------------
# WMT17: per language pair the two systems; (source, reference, first output, second
# output), where None means that the second system's line is the same; and the human
# scores as (system: 0, 1 or "both", line number from 1, score as written)
# --------------------------------------------------------------------------------------

WMT17 = {
    "cs-en": {
        "systems": ("sample-nmt.5001", "sample-pbmt.5002"),
        "segments": [
            (
                "Vlak do Brna měl kvůli sněhu dvě hodiny zpoždění.",
                "The train to Brno was two hours late because of snow.",
                "The train to Brno was delayed two hours due to snow.",
                "Train to Brno had because of snow two hours delay.",
            ),
            (
                "Starosta slíbil, že most opraví do konce roku.",
                "The mayor promised to repair the bridge by the end of the year.",
                "The mayor promised that he would repair the bridge by the end of the year.",
                "Mayor promised, that the bridge repairs until the end of year.",
            ),
            (
                "Děti si u školy zasadily malou zahradu.",
                "The children planted a small garden next to the school.",
                "Children planted a small garden at school.",
                None,
            ),
            (
                "Lékaři doporučují pít v horku více vody.",
                "Doctors recommend drinking more water in hot weather.",
                "Doctors recommend drinking more water in the heat.",
                "Doctors recommend drink in hot more water.",
            ),
            (
                "Muzeum otevře novou výstavu o starých hodinách.",
                "The museum will open a new exhibition about old clocks.",
                "The museum opens a new exhibition on old hours.",
                "Museum will open new exhibition of the old hours.",
            ),
            (
                "Cena jablek letos vzrostla téměř o pětinu.",
                "The price of apples has risen by almost a fifth this year.",
                "The price of apples rose by almost a fifth this year.",
                "Price apples this year grew almost about five.",
            ),
            (
                "Turisté našli v lese ztraceného psa.",
                "Hikers found a lost dog in the forest.",
                "Tourists found a lost dog in the forest.",
                "Tourists found in the forest lost of the dog.",
            ),
        ],
        "human": [
            (0, 1, "0.731408265519327"),
            (1, 1, "-0.402917355081264"),
            (1, 2, "-0.688230417765092"),
            ("both", 3, "0.514920733816405"),
            (0, 5, "0.0926618340572711"),
            (1, 6, "-1.12740658339162"),
        ],
    },
    "de-en": {
        "systems": ("sample-nmt.5011", "online-X.0"),
        "segments": [
            (
                "Die Bäckerei an der Ecke schließt nach vierzig Jahren.",
                "The bakery on the corner is closing after forty years.",
                "The bakery on the corner closes after forty years.",
                "The bakery at the corner shuts to forty years.",
            ),
            (
                "Niemand wurde bei dem Brand in der Scheune verletzt.",
                "No one was hurt in the barn fire.",
                "No one was injured in the barn fire.",
                None,
            ),
            (
                "Der Verein sucht noch Helfer für das Sommerfest.",
                "The club is still looking for helpers for the summer party.",
                "The club is still looking for helpers for the summer festival.",
                "The association searches still helper for the summer feast.",
            ),
            (
                "Wegen des Streiks fielen am Montag viele Züge aus.",
                "Many trains were cancelled on Monday because of the strike.",
                "Many trains were cancelled on Monday due to the strike.",
                "Strike for fell Monday much trains out.",
            ),
            (
                "Die neue Radstrecke verbindet drei Dörfer miteinander.",
                "The new cycle path connects three villages.",
                "The new bike route connects three villages with each other.",
                "The new wheel track connects three villages together.",
            ),
            (
                "Im Frühling blüht der ganze Hang hinter dem Kloster.",
                "In spring the whole slope behind the monastery is in bloom.",
                "In spring, the entire slope behind the monastery blooms.",
                "In the spring flowers the whole slope behind the monastery.",
            ),
            (
                "Sie lernte das Klavierspiel erst mit fünfzig.",
                "She only learned to play the piano at fifty.",
                "She did not learn to play the piano until she was fifty.",
                "She learned the piano game only with fifty.",
            ),
            (
                "Der Käse reift sechs Monate in einem alten Keller.",
                "The cheese matures for six months in an old cellar.",
                "The cheese ripens for six months in an old cellar.",
                "The cheese ripens six months in an old cellar.",
            ),
        ],
        "human": [
            (0, 1, "0.655192740836617"),
            ("both", 2, "0.880316592704439"),
            (1, 4, "-1.31088462570914"),
            (0, 6, "0.497705218364005"),
            (1, 7, "-0.946033187252908"),
            (1, 8, "0.311849570226183"),
        ],
    },
    "fi-en": {
        "systems": ("sample-nmt.5021", "sample-rule-based.5022"),
        "segments": [
            (
                "Lautta ei kulkenut eilen kovan tuulen takia.",
                "The ferry did not run yesterday because of strong wind.",
                "The ferry did not run yesterday due to strong winds.",
                "The raft did not pass yesterday hard wind for.",
            ),
            (
                "Kirjasto lainaa nyt myös suksia ja luistimia.",
                "The library now also lends skis and skates.",
                "The library now also lends skis and skates.",
                "Library lends now also skis and skates.",
            ),
            (
                "Vanha saha muutettiin konserttisaliksi.",
                "The old sawmill was turned into a concert hall.",
                "The old saw was converted into a concert hall.",
                "Old saw was changed concert hall.",
            ),
            (
                "Marjoja oli tänä kesänä enemmän kuin moneen vuoteen.",
                "There were more berries this summer than there had been for many years.",
                "There were more berries this summer than in years.",
                "Berries were this summer more than many year.",
            ),
            (
                "Kylän opettaja jäi eläkkeelle kesäkuussa.",
                "The village teacher retired in June.",
                "The village teacher retired in June.",
                None,
            ),
            (
                "Poro pysäytti liikenteen puoleksi tunniksi.",
                "A reindeer stopped traffic for half an hour.",
                "The reindeer stopped traffic for half an hour.",
                "Reindeer stopped the traffic half an hour's.",
            ),
            (
                "Kahvin hinta nousee taas ensi viikolla.",
                "The price of coffee will rise again next week.",
                "Coffee prices will rise again next week.",
                "Coffee price rises again first week.",
            ),
        ],
        "human": [
            (1, 1, "-1.40527731960484"),
            (0, 2, "0.902866150374218"),
            (1, 3, "-0.710349226885073"),
            ("both", 5, "1.04418370925561"),
            (0, 6, "0.633027814490562"),
            (1, 7, "-0.285640917733908"),
        ],
    },
    "lv-en": {
        "systems": ("sample-hybrid.5031", "sample-pbmt.5032"),
        "segments": [
            (
                "Tirgus laukumā šodien pārdeva medu un sieru.",
                "Honey and cheese were sold in the market square today.",
                "Honey and cheese were sold in the market square today.",
                "Market square today sold honey and cheese.",
            ),
            (
                "Upes ūdens līmenis pa nakti strauji pacēlās.",
                "The water level of the river rose sharply overnight.",
                "The water level of the river rose rapidly overnight.",
                "River water level at night quickly got up.",
            ),
            (
                "Koris uzstāsies arī kaimiņu pilsētā.",
                "The choir will also perform in the neighbouring town.",
                "The choir will also perform in a neighbouring city.",
                "Choir will perform also neighbour city.",
            ),
            (
                "Skolēni pirmo reizi apmeklēja observatoriju.",
                "The pupils visited the observatory for the first time.",
                "Students visited the observatory for the first time.",
                None,
            ),
            (
                "Ceļa remonts turpināsies līdz oktobrim.",
                "The roadworks will continue until October.",
                "Road repairs will continue until October.",
                "Way repair will continue to october.",
            ),
            (
                "Lietus dēļ koncerts notika baznīcā.",
                "Because of the rain the concert took place in the church.",
                "Because of the rain, the concert took place in the church.",
                "Rain for the concert was in church.",
            ),
        ],
        "human": [
            (0, 1, "0.951730284466019"),
            (1, 2, "-0.520884136927405"),
            (0, 3, "0.448206617390255"),
            (1, 3, "-0.336491802557714"),
            ("both", 4, "0.700513928846137"),
            (1, 6, "-1.01937528846604"),
        ],
    },
    "ru-en": {
        "systems": ("sample-nmt.5041", "sample-syscomb.5042"),
        "segments": [
            (
                "На рынке появились первые арбузы.",
                "The first watermelons have appeared at the market.",
                "The first watermelons appeared on the market.",
                "On market appeared first watermelons.",
            ),
            (
                "Школьный автобус сломался по дороге в музей.",
                "The school bus broke down on the way to the museum.",
                "The school bus broke down on the way to the museum.",
                "School bus broke on road in museum.",
            ),
            (
                "Жители просят открыть в посёлке аптеку.",
                "Residents are asking for a pharmacy to be opened in the village.",
                "Residents are asking to open a pharmacy in the village.",
                "Inhabitants ask open in settlement pharmacy.",
            ),
            (
                "Озеро замёрзло на две недели раньше обычного.",
                "The lake froze two weeks earlier than usual.",
                "The lake froze two weeks earlier than usual.",
                None,
            ),
            (
                "Билеты на спектакль раскупили за час.",
                "Tickets for the play sold out in an hour.",
                "Tickets for the play were sold out in an hour.",
                "Tickets on performance bought for hour.",
            ),
            (
                "Художник подарил городу двадцать картин.",
                "The artist gave the city twenty paintings.",
                "The artist donated twenty paintings to the city.",
                "Artist presented city twenty pictures.",
            ),
            (
                "Пекарь встаёт каждый день в три часа ночи.",
                "The baker gets up at three in the morning every day.",
                "The baker gets up every day at three in the morning.",
                "The baker rises each day in three hours of night.",
            ),
        ],
        "human": [
            (1, 1, "-0.294406817352990"),
            (0, 2, "1.10293847756021"),
            (1, 3, "-0.875510263948817"),
            ("both", 4, "0.990174628053346"),
            (0, 6, "0.560287193340872"),
            # Like one row of the real file, in scientific notation.
            (1, 7, "-8.31520467719254e-05"),
        ],
    },
    "tr-en": {
        "systems": ("sample-nmt.5051", "online-Y.0"),
        "segments": [
            (
                "Balıkçılar bu sabah denize açılamadı.",
                "The fishermen could not go out to sea this morning.",
                "The fishermen could not sail this morning.",
                "Fishermen this morning could not open to the sea.",
            ),
            (
                "Köydeki eski çeşme yeniden akmaya başladı.",
                "The old fountain in the village has started to flow again.",
                "The old fountain in the village began to flow again.",
                "In village the old fountain again started to current.",
            ),
            (
                "Öğrenciler yaz boyunca kitap topladı.",
                "The students collected books throughout the summer.",
                "The students collected books throughout the summer.",
                "Students summer neck collected book.",
            ),
            (
                "Yeni tramvay hattı gelecek ay açılacak.",
                "The new tram line will open next month.",
                "The new tram line will open next month.",
                None,
            ),
            (
                "Zeytin hasadı beklenenden erken bitti.",
                "The olive harvest finished earlier than expected.",
                "The olive harvest ended earlier than expected.",
                "Olive harvest from expected early finished.",
            ),
            (
                "Doktor ona her akşam yarım saat yürümesini önerdi.",
                "The doctor advised him to walk for half an hour every evening.",
                "The doctor suggested that she walk for half an hour every evening.",
                "Doctor every evening half hour walking offered.",
            ),
        ],
        "human": [
            (0, 1, "0.284917305562048"),
            (0, 2, "0.773309641885127"),
            (1, 3, "-1.52660382917745"),
            ("both", 4, "1.21740938856613"),
            (1, 5, "-0.390725518846009"),
            (1, 6, "-0.918264470035586"),
        ],
    },
    "zh-en": {
        "systems": ("sample-nmt.5061", "Sample-Lab-S.5062"),
        "segments": [
            (
                "这家小书店每天营业到晚上十点。",
                "The small bookshop is open until ten every evening.",
                "This small bookstore is open until 10 pm every day.",
                "This family small bookstore every day business to night ten.",
            ),
            (
                "暴雨过后，街上积了很多水。",
                "After the rainstorm there was a lot of water in the streets.",
                "After the heavy rain, a lot of water accumulated on the street.",
                "After storm, street accumulate many water.",
            ),
            (
                "他花了三年时间修好了祖父的钟。",
                "He spent three years repairing his grandfather's clock.",
                "It took him three years to fix his grandfather's clock.",
                "He spent three years time repaired the bell of grandfather.",
            ),
            (
                "公园里的荷花已经开了。",
                "The lotus flowers in the park are already in bloom.",
                "The lotus flowers in the park have already opened.",
                None,
            ),
            (
                "孩子们用旧报纸做了风筝。",
                "The children made kites out of old newspapers.",
                "The children made kites from old newspapers.",
                "Children with old newspaper did kite.",
            ),
            (
                "列车因大雾晚点四十分钟。",
                "The train was forty minutes late because of thick fog.",
                "The train was delayed by 40 minutes due to heavy fog.",
                "Train because big fog late point forty minutes.",
            ),
            (
                "村里的茶叶今年卖得很好。",
                "The village's tea sold very well this year.",
                "The tea in the village sells well this year.",
                "Village in tea this year sell very good.",
            ),
        ],
        "human": [
            (0, 1, "0.588140276639351"),
            (1, 2, "-0.762018334957720"),
            (1, 3, "-0.204467195830716"),
            ("both", 4, "0.826350917284403"),
            (0, 5, "0.910072846653199"),
            (1, 6, "-1.23391750864472"),
        ],
    },
}

# A pair out of English, as the real table has them; there are no texts for it.
WMT17_EXTRA_ROWS = [
    "en-ru newstest2017 sample-nmt.5071 2 0.417730592846605",
    "en-ru newstest2017 sample-nmt.5071+online-X.0 5 -0.228461093375174",
]

# System outputs of WMT17 that start with a byte-order mark, as some real ones do.
WMT17_WITH_BOM = {("de-en", "online-X.0")}

# --------------------------------------------------------------------------------------
# The training data of the metrics task: (source, reference, output, human score)
# --------------------------------------------------------------------------------------

DA_WMT15 = {
    "cs-en": [
        (
            "Knihovna otevírá v devět hodin.",
            "The library opens at nine o'clock.",
            "The library opens at nine.",
            "0.871240953318204",
        ),
        (
            "Na střeše sedí dvě kočky.",
            "Two cats are sitting on the roof.",
            "On roof is two cat.",
            "-0.640218877305516",
        ),
    ],
    "ru-en": [
        (
            "Почта закрыта до понедельника.",
            "The post office is closed until Monday.",
            "The mail is closed before Monday.",
            "-0.218740665120937",
        ),
        (
            "В саду зацвели яблони.",
            "The apple trees in the garden have blossomed.",
            "Apple trees blossomed in the garden.",
            "0.733092518846271",
        ),
    ],
    "de-en": [
        (
            "Das Café am Bahnhof bleibt im Winter offen.",
            "The café at the station stays open in winter.",
            "The café at the station remains open in winter.",
            "0.804113290657118",
        ),
        (
            "Ein Gärtner fand im Park eine alte Münze.",
            "A gardener found an old coin in the park.",
            "A gardener found in the park an old coin.",
            "0.312750846639205",
        ),
        (
            "Die Kinder durften länger aufbleiben.",
            "The children were allowed to stay up longer.",
            "The children were allowed up longer remain.",
            "-0.624908173355026",
        ),
        # White space at an edge.
        (
            "Sein Vortrag dauerte kaum zehn Minuten.",
            "His talk lasted barely ten minutes.",
            "His lecture lasted hardly ten minutes. ",
            "0.550637219848304",
        ),
        (
            "Der Nebel verzog sich erst gegen Mittag.",
            "The fog only cleared around noon.",
            "The fog warped itself only against noon.",
            "-1.10382946751708",
        ),
    ],
    "fi-en": [
        (
            "Naapuri korjasi aidan viikonloppuna.",
            "The neighbour repaired the fence at the weekend.",
            "The neighbour fixed the fence over the weekend.",
            "0.902746183350917",
        ),
        (
            "Talvella satama on jäässä kaksi kuukautta.",
            "In winter the harbour is frozen for two months.",
            "In winter port is two months in ice.",
            "-0.308125577940263",
        ),
        (
            "Hän soittaa kirkon urkuja.",
            "She plays the church organ.",
            "He calls the church organs.",
            "-0.911384206577490",
        ),
        (
            "Uusi silta helpottaa matkaa saarelle.",
            "The new bridge makes the trip to the island easier.",
            "The new bridge facilitates the journey to the island.",
            "0.617093348852761",
        ),
        (
            "Kanat munivat vähemmän pimeänä aikana.",
            "Hens lay fewer eggs in the dark season.",
            "Chickens less eggs in dark time.",
            "-0.733860915244087",
        ),
    ],
}

DA_WMT16 = {
    "cs-en": [
        (
            "Most byl postaven z kamene.",
            "The bridge was built of stone.",
            "The bridge was built from stone.",
            "0.914302277658840",
        ),
        (
            "Pekař zapomněl na sůl.",
            "The baker forgot the salt.",
            "Baker forgot on salt.",
            "-0.455178209934462",
        ),
    ],
    "de-en": [
        (
            "Die Fähre fährt zweimal am Tag.",
            "The ferry runs twice a day.",
            "The ferry goes two times on the day.",
            "0.108846213370925",
        ),
        (
            "Im Keller steht ein altes Klavier.",
            "There is an old piano in the cellar.",
            "In the basement there is an old piano.",
            "0.688215503147764",
        ),
    ],
    "fi-en": [
        (
            "Lapset rakensivat lumilinnan.",
            "The children built a snow castle.",
            "The children built a snow castle.",
            "1.20733516648029",
        ),
        (
            "Juna oli tunnin myöhässä.",
            "The train was an hour late.",
            "Train hour was late.",
            "-0.392650874119533",
        ),
    ],
    "ru-en": [
        (
            "Дети кормят уток у пруда.",
            "The children are feeding the ducks by the pond.",
            "Children feed ducks at the pond.",
            "0.541907736288105",
        ),
        (
            "Ключ лежит под ковриком.",
            "The key is under the mat.",
            "The key lies under rug.",
            "-0.077315482960014",
        ),
    ],
    "ro-en": [
        (
            "Vecinii au plantat tei pe toată strada.",
            "The neighbours planted lime trees along the whole street.",
            "The neighbors planted lime trees all over the street.",
            "0.527740916638254",
        ),
        (
            "Trenul de noapte pleacă la ora zece.",
            "The night train leaves at ten o'clock.",
            "The night train leaves at ten.",
            "0.953381720446519",
        ),
        (
            "Bunica face dulceață de vișine.",
            "Grandmother makes sour cherry jam.",
            "Grandma makes jam of the cherry.",
            "0.0511937720846635",
        ),
        (
            "Lacul a secat aproape complet în august.",
            "The lake dried up almost completely in August.",
            "Lake has dry almost completely in August.",
            "-0.402288615937714",
        ),
        (
            "Nimeni nu știe cine a scris scrisoarea.",
            "Nobody knows who wrote the letter.",
            "Nobody not know who wrote the letter.",
            "-0.611095834726048",
        ),
    ],
    "tr-en": [
        (
            "Fırın bugün erken kapandı.",
            "The bakery closed early today.",
            "The oven closed early today.",
            "-0.517406928835519",
        ),
        (
            "Dağ yolu kar yüzünden trafiğe kapatıldı.",
            "The mountain road was closed to traffic because of snow.",
            "The mountain road was closed to traffic due to snow.",
            "0.984620371158806",
        ),
        (
            "Müze cumartesi günleri ücretsizdir.",
            "The museum is free on Saturdays.",
            "Museum Saturday days is free.",
            "-0.104938726650271",
        ),
        (
            "Komşumuz bize taze incir getirdi.",
            "Our neighbour brought us fresh figs.",
            "Our neighbor brought us fresh figs.",
            "1.12840759336607",
        ),
        (
            "Saat kulesi on yıl sonra onarıldı.",
            "The clock tower was repaired after ten years.",
            "Hour tower ten years later repaired.",
            "-0.829174460583392",
        ),
    ],
}

# --------------------------------------------------------------------------------------
# Texts
# --------------------------------------------------------------------------------------

ZIP_README = "Made-up sentence pairs in the layout of the STS 2017 evaluation sets.\n"
ZIP_LICENSE = "Made up for this package, under the package's own licence.\n"

README = """\
# Sample data

The files in this folder are made up: every sentence, answer and score was invented for this
package, in the file formats of the real datasets, so that the readers, the tasks and the tests
run without a download. They are not the datasets and not taken from them, and a score on them
says nothing about a model. They come under the same licence as the package. To change them, edit
the rows in `scripts/make_samples.py` and run it again (`pip install xlwt`, then
`python scripts/make_samples.py`); it rewrites this folder, and the same rows give the same bytes.
"""


# --------------------------------------------------------------------------------------
# Writers: each gives {path below the samples folder: content}
# --------------------------------------------------------------------------------------


def _lines(lines: list[str], encoding: str = "utf-8") -> bytes:
    return "".join(line + "\n" for line in lines).encode(encoding)


def _zip(members: dict[str, bytes]) -> bytes:
    """Pack members without compression and with a fixed date, for identical bytes anywhere."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, date_time=(2017, 1, 1, 0, 0, 0))
            info.create_system = 3
            info.external_attr = (0o40755 << 16 | 0x10) if name.endswith("/") else 0o100644 << 16
            archive.writestr(info, content)
    return buffer.getvalue()


def jacsts() -> dict[str, bytes]:
    """One BIFF8 sheet without header: two text cells and a number a row."""
    import xlwt

    # The real scores are RK records that hold a float; xlwt would write integers.
    xlwt.Cell.NumberCell.get_encoded_data = lambda cell: (
        1,
        struct.unpack("<2i", struct.pack("<d", cell.number))[1],
    )
    book = xlwt.Workbook(encoding="utf-8")
    sheet = book.add_sheet("samples")
    for number, row in enumerate(JACSTS):
        for column, value in enumerate(row):
            sheet.write(number, column, value)
    buffer = io.BytesIO()
    book.save(buffer)
    return {"dataset_JA_Clinical_STS.xls": buffer.getvalue()}


def qabot() -> dict[str, bytes]:
    """One folder a query: question.txt and data.csv (UTF-8 with byte-order mark)."""
    files = {}
    for number, (query, relevant, missing) in enumerate(QABOT_QUERIES, start=1):
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer)
        writer.writerow(["question", "answer", "label"])
        for position, (question, answer) in enumerate(QABOT_POOL, start=1):
            if position != missing:
                writer.writerow([question, answer, int(position in relevant)])
        files[f"qabot/{number}/question.txt"] = _lines([query])
        files[f"qabot/{number}/data.csv"] = buffer.getvalue().encode("utf-8-sig")
    return files


def wikiqa() -> dict[str, bytes]:
    """Tab-separated with a header and without quoting."""
    header = "QuestionID Question DocumentID DocumentTitle SentenceID Sentence Label"
    files = {}
    for split, questions in WIKIQA.items():
        lines = [header.replace(" ", "\t")]
        for question_id, question, document, correct in questions:
            title, sentences = WIKIQA_DOCUMENTS[document]
            lines += [
                "\t".join(
                    (
                        *(question_id, question, f"D{document}", title),
                        *(f"D{document}-{position}", sentence, str(int(position in correct))),
                    )
                )
                for position, sentence in enumerate(sentences)
            ]
        files[f"WikiQACorpus/WikiQA-{split}.tsv"] = _lines(lines)
    return files


def _annotation(tokens: list[str]) -> list[str]:
    """Placeholders for tags, relations, heads and entities: one value a token, no parser."""
    tags, entities = [], []
    for token in tokens:
        if token == "<num>" or token[0].isdigit():
            tags.append("CD")
        elif not token[0].isalnum() and token != "&":
            tags.append(token)
        else:
            tags.append("NNP" if token[0].isupper() else "NN")
        entities.append("ORGANIZATION-B" if tags[-1] == "NNP" else "-")
    relations = ["ROOT", *["NMOD"] * (len(tokens) - 2), "P"]
    heads = ["0", *["1"] * (len(tokens) - 1)]
    return ["\t".join(row) for row in (tags, relations, heads, entities)]


def _trec_block(kind: str, text: str, answers: list[str] | None, end: str) -> list[str]:
    tokens = text.split(" ")
    lines = ["\t".join(tokens), *_annotation(tokens)]
    if answers is not None:
        places = ["#" if word == "#" else str(tokens.index(word) + 1) for word in answers]
        # With several answers ("#" between them) the real files have no tab at the end.
        end = "" if "#" in answers else end
        lines += ["\t".join(answers) + end, "\t".join(places) + end]
    return [f"<{kind}>", *lines, f"</{kind}>"]


def trec_qa() -> dict[str, bytes]:
    """Blocks that look like XML: nothing is escaped, and they are read line by line."""
    files = {}
    for split, blocks in TREC.items():
        end = "" if split == "TRAIN" else "\t"
        lines = []
        for block_id, question, positives, negatives in blocks:
            lines.append(f"<QApairs id='{block_id}'>")
            lines += _trec_block("question", question, None, end)
            for sentence, answers in positives:
                lines += _trec_block("positive", sentence, answers, end)
            for sentence in negatives:
                lines += _trec_block("negative", sentence, None, end)
            lines.append("</QApairs>")
        files[f"TrecQA/data/{split}.xml"] = _lines(lines)
    return files


def sts17() -> dict[str, bytes]:
    """The two official archives: the inputs and the gold standard."""
    inputs = {
        "STS2017.eval.v1.1/LICENSE.txt": ZIP_LICENSE.encode(),
        "STS2017.eval.v1.1/README.txt": ZIP_README.encode(),
    }
    gold = {"STS2017.gs/": b""}
    for track, pairs in STS17.items():
        inputs[f"STS2017.eval.v1.1/STS.input.{track}.txt"] = _lines(
            [f"{first}\t{second}" for first, second, _ in pairs]
        )
        gold[f"STS2017.gs/STS.gs.{track}.txt"] = _lines(
            [
                str(score) if isinstance(score, int) else f"{score:.6f}"
                for *_, score in pairs
                if score is not None
            ]
        )
    return {
        "sources/Sts2017.eval.v1.1.zip": _zip(inputs),
        "sources/Sts2017.gs.zip": _zip(gold),
    }


def sts_benchmark() -> dict[str, bytes]:
    """Tab-separated without header and without quoting."""
    return {
        f"stsbenchmark/sts-{split}.csv": _lines(
            ["\t".join([*fields.split(" "), *texts]) for fields, *texts in rows]
        )
        for split, rows in STSB.items()
    }


def wmt17() -> dict[str, bytes]:
    """The table of human scores and the texts that its line numbers point into."""
    table = ["LP DATA SYSTEM SID HUMAN"]
    files = {}
    for pair, content in WMT17.items():
        source_language = pair.partition("-")[0]
        stem = f"newstest2017-{source_language}en"
        systems, segments = content["systems"], content["segments"]
        for system, line, score in content["human"]:
            name = "+".join(systems) if system == "both" else systems[system]
            table.append(f"{pair} newstest2017 {name} {line} {score}")
        outputs = {
            systems[0]: [first for _, _, first, _ in segments],
            systems[1]: [second or first for _, _, first, second in segments],
        }
        files[f"wmt17/references/{stem}-ref.en"] = _lines([row[1] for row in segments])
        files[f"wmt17/sources/{stem}-src.{source_language}"] = _lines([row[0] for row in segments])
        for system, lines in outputs.items():
            encoding = "utf-8-sig" if (pair, system) in WMT17_WITH_BOM else "utf-8"
            path = f"wmt17/system-outputs/newstest2017/{pair}/newstest2017.{system}.{pair}"
            files[path] = _lines(lines, encoding)
    return {"WMT17/DA-seglevel.csv": _lines(table + WMT17_EXTRA_ROWS), **files}


def wmt_training() -> dict[str, bytes]:
    """Parallel files a language pair, one line a segment."""
    kinds = ("source", "reference", "mt-system", "human")
    files = {}
    for folder, stem, pairs in (
        ("da-wmt15", "newstest2015", DA_WMT15),
        ("da-wmt16", "DAseg-newstest2016", DA_WMT16),
    ):
        for pair, rows in pairs.items():
            for column, kind in enumerate(kinds):
                path = f"{folder}/{pair}/{stem}.{kind}.{pair}"
                files[path] = _lines([row[column] for row in rows])
    return files


def build() -> dict[str, bytes]:
    """All sample files.

    Returns:
        Path below the samples folder, with forward slashes, to content.
    """
    files = {"README.md": README.encode()}
    for writer in (
        jacsts,
        qabot,
        wikiqa,
        trec_qa,
        sts17,
        sts_benchmark,
        wmt17,
        wmt_training,
    ):
        files.update(writer())
    return files


def main() -> None:
    """Write every sample file."""
    for name, content in build().items():
        path = SAMPLES / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


if __name__ == "__main__":
    main()
