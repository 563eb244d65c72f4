import {
  replaceEqualDeep,
  useMutation,
  useQuery,
  useQueryClient,
  type QueryKey,
} from '@tanstack/react-query';

/** Rows of a list that were loaded so far. */
export interface Loaded<Row, Cursor> {
  rows: Row[];
  /** Where older rows begin; null: there are none. */
  cursor: Cursor | null;
}

/** Rows that were read at once: the newest ones, or those after a cursor. */
export interface Piece<Row, Cursor> extends Loaded<Row, Cursor> {
  isNewest: boolean;
}

/**
 * Adds rows to those that were loaded before, whose newer state replaces them. The newest rows replace everything if none
 * of them was loaded before: rows between them may be missing.
 * @param isAnchor whether a row shows by its presence that none is missing
 */
export function mergePiece<Row extends { id: string }, Cursor>(
  before: Loaded<Row, Cursor> | undefined,
  piece: Piece<Row, Cursor>,
  isAnchor: (row: Row) => boolean = () => true,
): Loaded<Row, Cursor> {
  const { rows, cursor, isNewest } = piece;
  if (before === undefined) return { rows, cursor };
  const merged = new Map(before.rows.map((row) => [row.id, row]));
  const anchors = rows.filter(isAnchor);
  const isConnected = anchors.length === 0 || anchors.some(({ id }) => merged.has(id));
  if (isNewest && !isConnected) return { rows, cursor };
  for (const row of rows) merged.set(row.id, row);
  return { rows: [...merged.values()], cursor: isNewest ? before.cursor : cursor };
}

interface Growing<Row, Cursor> {
  queryKey: QueryKey;
  /** Reads the newest rows, or those after a cursor. */
  read: (cursor: Cursor | null, loaded: readonly Row[]) => Promise<Loaded<Row, Cursor>>;
  isAnchor?: (row: Row) => boolean;
  refetchInterval: number;
  enabled?: boolean;
}

/** A list that reads only its newest rows again, and older ones when the reader asks for them. */
export function useGrowing<Row extends { id: string }, Cursor>(options: Growing<Row, Cursor>) {
  const { queryKey, read, isAnchor, refetchInterval, enabled = true } = options;
  const queries = useQueryClient();
  const find = () => queries.getQueryData<Loaded<Row, Cursor>>(queryKey);
  const query = useQuery<Loaded<Row, Cursor>>({
    queryKey,
    queryFn: async () => ({ ...(await read(null, find()?.rows ?? [])), isNewest: true }),
    // Merges when the answer is stored, so that no other answer comes between.
    structuralSharing: (before, piece) =>
      replaceEqualDeep(
        before,
        mergePiece(before as Loaded<Row, Cursor> | undefined, piece as Piece<Row, Cursor>, isAnchor),
      ),
    refetchInterval,
    enabled,
  });
  const older = useMutation({
    // The reader may choose another list before the answer arrives.
    mutationFn: async (from: { cursor: Cursor } & Pick<typeof options, 'queryKey' | 'read'>) => {
      const loaded = await from.read(from.cursor, []);
      queries.setQueryData(from.queryKey, { ...loaded, isNewest: false });
    },
  });
  const cursor = query.data?.cursor ?? null;
  const loadOlder = () => {
    if (cursor !== null && !older.isPending) older.mutate({ cursor, queryKey, read });
  };
  return { query, hasOlder: cursor !== null, loadOlder, isLoadingOlder: older.isPending, error: older.error };
}
