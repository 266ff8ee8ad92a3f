// What several views are made of.

import { get } from "../api.js";
import { h, noteAddress, row } from "../dom.js";

/** What an address answers, unless the view is left meanwhile. @throws {ApiError} */
export const load = (path, app, options) => get(path, {}, { signal: app.signal, ...options });

export const quiet = (...words) => h("span", { class: "quiet" }, words);
export const noteLink = (one) => h("a", { href: noteAddress(one.id) }, one.title);
export const lines = (all) => h("ul", { class: "plain" }, all.map((one) => h("li", {}, one)));

/** A row as `row` makes it, without what is empty in its last line. */
export const noteRow = ({ meta, ...rest }) => row({ ...rest, meta: meta.filter(Boolean) });

/** Whether somebody has unfolded or focused something in a view, which is not shown anew then. */
export const isInUse = (main) => main.querySelector("details[open], :focus") !== null;
