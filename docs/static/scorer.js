// Search: a page that is named as asked for ("Theorem 2.1 ftrl", "iv/lem-d.4", the beginning of an id as in "thm-2.1")
// comes first; dots do not part a number.
const asked = (new URLSearchParams(window.location.search).get("q") || "").toLowerCase().split(/[\s,()/]+/).filter(Boolean);

var Scorer = {
  score: ([, title, , , score]) => {
    const names = title.toLowerCase().split(/[\s,()/]+/);
    const named = (word) => names.some((name) => name === word || (word.includes("-") && name.startsWith(`${word}-`)));
    const first = title.toLowerCase().startsWith(asked.slice(0, 2).join(" ")) ? 10 : 0;
    return score + first + 30 * asked.filter(named).length;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
