import { toField } from '../database/model-columns.js';

/** Field of the key in snake case: Prisma names columns in camel case. */
type FieldOf<Key> = Key extends `${infer Word}_${infer Rest}` ? `${Word}${Capitalize<FieldOf<Rest>>}` : Key;
type Shows<Out, Row> = { [Key in keyof Out]: (row: Row) => Out[Key] | undefined };
/** Keys that no field of the row has. */
type Computed<Out, Row> = { [Key in keyof Out]-?: FieldOf<Key> extends keyof Row ? never : Key }[keyof Out];

/** The fields that a response shows under their own names. */
export type ShownFields<Out, Row> = Extract<FieldOf<keyof Out>, keyof Row>;

/**
 * Creates the function that shows rows in a response. Each key is the field of the same name; a time is shown in ISO 8601.
 * @param shows the values that differ from the field or have none; undefined leaves the key out
 */
export function rowView<Out extends object, Row extends object>(
  { shape }: { shape: Record<keyof Out & string, unknown> },
  shows: Partial<Shows<Out, Row>> & Pick<Shows<Out, Row>, Computed<Out, Row>>,
): (row: Row) => Out {
  const keys = Object.keys(shape) as (keyof Out & string)[];
  const columns = keys.map((key) => ({ key, field: toField(key) as keyof Row, show: shows[key] }));
  return (row) => {
    const out: Record<string, unknown> = {};
    for (const { key, field, show } of columns) {
      const value: unknown = show ? show(row) : row[field];
      if (value !== undefined) out[key] = value instanceof Date ? value.toISOString() : value;
    }
    return out as Out;
  };
}
