// Run the search of the built site without a browser: node run_search.js SITE QUERY ...
// Prints, as JSON, the first results of each query: page with anchor, title, kind.
const fs = require("fs"), path = require("path"), vm = require("vm");

const [site, ...queries] = process.argv.slice(2);
const read = (name) => fs.readFileSync(path.join(site, name), "utf8");
const nothing = () => null;
const page = {
  documentElement: { dataset: { content_root: "" } }, readyState: "loading", addEventListener: nothing,
  getElementById: nothing, querySelector: nothing, querySelectorAll: () => [],
};
const context = vm.createContext({
  document: page, location: { search: "" }, addEventListener: nothing, localStorage: { getItem: nothing, setItem: nothing },
  URLSearchParams, console, DOCUMENTATION_OPTIONS: {},
});
context.window = context;
const scripts = ["doctools.js", "sphinx_highlight.js", "searchtools.js", "language_data.js"].map((name) => read(`_static/${name}`));
vm.runInContext([...scripts, "globalThis.Search = Search;"].join("\n"), context);
vm.runInContext(read("searchindex.js"), context);

const found = {};
for (const query of queries) {
  const results = context.Search._performSearch(...context.Search._parseQuery(query));
  results.reverse(); // the best come last
  found[query] = results.slice(0, 8).map(([name, title, anchor, , score, , kind]) => [name + anchor, title, score, kind]);
}
console.log(JSON.stringify(found));
