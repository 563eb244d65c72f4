/** SQL for an id moved to another time. */
export const idMadeAt = (id: string, at: string): string =>
  `overlay((${id})::text PLACING left(gwk_lowest_id(${at})::text, 13) FROM 1 FOR 13)::uuid`;

/** SQL for the same id, created this many days earlier. */
export const idOlder = (id: string, days: number): string =>
  idMadeAt(
    id,
    `to_timestamp(('x' || replace(left(${id}::text, 13), '-', ''))::bit(48)::bigint / 1000.0) - interval '${days} days'`,
  );
