/** Path of a value within a JSON value, from the root. */
export type Place = readonly string[];

/** Paths of all values within a body, from the root to the leaves. */
export function placesOf(value: unknown): Place[] {
  if (value === null || typeof value !== 'object') return [[]];
  const within = Object.entries(value).flatMap(([name, part]) =>
    placesOf(part).map((place) => [name, ...place]),
  );
  return [[], ...within];
}

export function valueAt(value: unknown, place: Place): unknown {
  return place.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], value);
}

/** A copy of the value with another value at the place. */
export function put(value: unknown, [name, ...rest]: Place, given: unknown): unknown {
  if (name === undefined) return given;
  const entries = Object.entries(value as object).map(([key, part]: [string, unknown]): [string, unknown] => [
    key,
    key === name ? put(part, rest, given) : part,
  ]);
  return Array.isArray(value) ? entries.map(([, part]) => part) : Object.fromEntries(entries);
}
