// Names of towns on the map, from the column of the table that has them. On a map without
// streets, they help the user to find a region.

const TOWN = /^(plz\W+)?(ort|stadt|gemeinde|town|city)\b/i;
const POSTCODE = /^([a-z]{1,2}-)?\d{4,5}\s+/i; // before a town, in one column with it
const MOST = 60; // a column with more different texts does not hold towns

/*
 * Return {name, point} of each town. The point is north of the town's customers. The towns with
 * most customers come first.
 */
export function townsOf({ columns, stops }, points) {
  const [, texts] = Object.entries(columns).find(([head]) => TOWN.test(head.trim())) ?? [];
  const townOf = ({ index }) => texts[index].trim().replace(POSTCODE, "");
  const named = texts ? stops.filter(townOf) : [];
  const groups = [...Map.groupBy(named, townOf)];
  if (groups.length > MOST) return [];
  const mean = (group, axis) =>
    group.reduce((sum, { index }) => sum + points[index][axis], 0) / group.length;
  groups.sort(([, a], [, b]) => b.length - a.length);
  return groups.map(([name, group]) => ({
    name,
    point: { x: mean(group, "x"), y: Math.max(...group.map(({ index }) => points[index].y)) },
  }));
}
