// Where the notes of a graph lie, worked out beside the thread of the page until they are settled:
// nothing moves on the screen. It is given {asked, nodes: [{x, y, pinned}], edges: [[from, to,
// strength]]} and answers {asked, places: [{x, y}]}; the same question always has the same answer.

import * as d3 from "../vendor/d3-force.js";

const TICKS = 140;

onmessage = ({ data: { asked, nodes, edges } }) => {
  const own = nodes.map(({ x, y, pinned }) => (pinned ? { x, y, fx: 0, fy: 0 } : { x, y }));
  const links = edges.map(([source, target, strength]) => ({ source, target, strength }));
  d3.forceSimulation(own)
    .stop() // of its own timer
    .alphaDecay(0.05)
    .force("links", d3.forceLink(links).distance(70).strength((one) => 0.15 + 0.4 * one.strength))
    .force("apart", d3.forceManyBody().strength(-160).distanceMax(500))
    .force("room", d3.forceCollide(16))
    .force("x", d3.forceX().strength(0.05))
    .force("y", d3.forceY().strength(0.07))
    .tick(TICKS);
  postMessage({ asked, places: own.map(({ x, y }) => ({ x, y })) });
};
