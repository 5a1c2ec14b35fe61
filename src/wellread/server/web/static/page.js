// The page's entrance: each part takes care of what it finds.
import { prepareForms } from "./ask.js";
import { prepareActions } from "./actions.js";
import { prepareCollections } from "./collections.js";
import { prepareHistory } from "./history.js";
import { prepareKeys } from "./keys.js";
import { followAll } from "./live.js";
import { prepareDocument, prepareSources } from "./sources.js";
import { prepareTicks } from "./ticks.js";

prepareForms();
prepareTicks();
prepareCollections();
prepareActions();
prepareSources();
prepareDocument();
prepareHistory();
prepareKeys();
followAll();

const articles = document.querySelectorAll("article.run");
if (articles.length > 1 && !location.hash) articles[articles.length - 1].scrollIntoView();
