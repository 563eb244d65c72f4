/** SQL of an id as it would be had it been made at another time. */
export const idMadeAt = (id: string, at: string): string =>
  `overlay((${id})::text PLACING left(gwk_lowest_id(${at})::text, 13) FROM 1 FOR 13)::uuid`;

/** SQL of the same id, made so many days earlier. */
export const idOlder = (id: string, days: number): string =>
  idMadeAt(
    id,
    `to_timestamp(('x' || replace(left(${id}::text, 13), '-', ''))::bit(48)::bigint / 1000.0) - interval '${days} days'`,
  );
