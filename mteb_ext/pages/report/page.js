(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("data").textContent);
  const options = {
    mode: "vega-lite",
    renderer: "svg",
    config: data.config,
    actions: { export: true, source: false, compiled: false, editor: false },
  };

  // Numbers as 16 bits between the smallest and the largest.
  const unpack = ({ low, high, codes }) => {
    const bytes = Uint8Array.from(atob(codes), (char) => char.charCodeAt(0));
    const scale = (high - low) / 65535;
    return Array.from(new Uint16Array(bytes.buffer), (code) => low + scale * code);
  };

  // Footnote 20 of the SemEval-2017 paper maps [low, high] to the scale; equal ratings are a line.
  const equalLines = ({ low, high }, [bottom, top]) => {
    const score = (rating) => low + ((high - low) * (rating - bottom)) / (top - bottom);
    return [["equal", 0], ["above", 1], ["below", -1]].flatMap(([line, shift]) => {
      const ends = [Math.max(bottom, bottom + shift), Math.min(top, top + shift)];
      return ends.map((gold) => ({ line, gold, score: score(gold - shift) }));
    });
  };

  const scatterSpec = (key, run) => {
    const set = data.scatters[key];
    const packed = set.scores[run];
    const gold = unpack(set.gold);
    const pairs = unpack(packed).map((score, i) => ({
      pair: i,
      score: Number(score.toPrecision(4)),
      gold: Number(gold[i].toPrecision(4)),
      ...(set.texts.length ? { texts: set.texts[i] } : {}),
    }));
    const spec = structuredClone(data.scatter);
    spec.description = `Scatter plot of gold and the scores of ${data.runs[run]}, ${set.name}.`;
    spec.datasets = { pairs, lines: set.scale ? equalLines(packed, set.scale) : [] };
    if (pairs.length > 1000) spec.layer[0].mark.opacity = 0.15;
    if (!set.texts.length) spec.layer[0].encoding.tooltip.pop();
    if (!set.scale) spec.layer.pop();
    return spec;
  };

  const shareWithin = (key, run) => {
    const share = data.scatters[key].within[run];
    return share === undefined ? "" : `: ${(100 * share).toFixed(1)}% of pairs within 1.0`;
  };

  const draw = async (figure) => {
    const { chart, scatter } = figure.dataset;
    const run = scatter && figure.closest("[data-scatters]").querySelector("select").value;
    if (figure.dataset.drawn === (run || "")) return;
    figure.dataset.drawn = run || "";
    if (scatter) figure.querySelector(".within").textContent = shareWithin(scatter, run);
    const place = figure.querySelector(".chart");
    await vegaEmbed(place, chart ? data.charts[chart] : scatterSpec(scatter, run), options);
  };

  // A chart is drawn once it comes near, the others one by one behind it: a page may have a
  // hundred, and whoever prints or captures the whole page wants them all.
  const watcher = new IntersectionObserver(
    (entries) => entries.filter((e) => e.isIntersecting).forEach((e) => draw(e.target)),
    { rootMargin: "400px" },
  );
  const figures = document.querySelectorAll("figure[data-chart], figure[data-scatter]");
  figures.forEach((figure) => watcher.observe(figure));

  const drawOthers = async () => {
    for (const figure of figures) {
      await new Promise((next) => setTimeout(next));
      await draw(figure);
    }
  };
  addEventListener("load", drawOthers);

  document.querySelectorAll("[data-scatters]").forEach((group) => {
    group.querySelector("select").addEventListener("change", () => {
      group.querySelectorAll("figure[data-scatter]").forEach((figure) => {
        watcher.unobserve(figure);
        watcher.observe(figure);
      });
    });
  });

  addEventListener("beforeprint", () => figures.forEach(draw));
})();
