// How results of a search are ranked: Sphinx's own numbers, but pages that list everything come behind those that explain.
var Scorer = {
    score: ([docname, , , , score]) => {
        if (docname.startsWith("docs/reference/guarantees") || docname.startsWith("benchmarks/")) {
            return score - 20;
        }
        return docname.startsWith("docs/site/api/pytest_eos.contracts") ? score - 10 : score;
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
