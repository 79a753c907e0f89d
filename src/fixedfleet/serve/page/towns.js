// Names of towns on the map, from the column of the table that has them. On a map without
// streets, they help the user to find a region.

const TOWN = /^(ort|stadt|gemeinde|town|city)\b/i;
const MOST = 60; // a column with more different texts does not hold towns

/*
 * Return {name, point} of each town. The point is north of the town's customers. The towns with
 * most customers come first.
 */
export function townsOf({ columns, stops }, points) {
  const [, texts] = Object.entries(columns).find(([head]) => TOWN.test(head.trim())) ?? [];
  const named = texts ? stops.filter(({ index }) => texts[index].trim()) : [];
  const groups = [...Map.groupBy(named, ({ index }) => texts[index].trim())];
  if (groups.length > MOST) return [];
  const mean = (group, axis) =>
    group.reduce((sum, { index }) => sum + points[index][axis], 0) / group.length;
  groups.sort(([, a], [, b]) => b.length - a.length);
  return groups.map(([name, group]) => ({
    name,
    point: { x: mean(group, "x"), y: Math.max(...group.map(({ index }) => points[index].y)) },
  }));
}
