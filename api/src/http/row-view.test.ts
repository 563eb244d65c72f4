import { z } from 'zod';
import { rowView } from './row-view.js';

const Out = z.object({
  id: z.string(),
  sent_at: z.string().nullable(),
  size: z.number(),
  note: z.string().optional(),
});
interface Row {
  id: string;
  sentAt: Date | null;
  size: number;
  note: string | null;
  secret: string;
}
const show = rowView<z.infer<typeof Out>, Row>(Out, {
  id: ({ id }) => `out_${id}`,
  note: ({ note }) => note ?? undefined,
});

test('shows the fields of the schema only, in its order, and times in ISO 8601', () => {
  const row = { secret: 'x', size: 3, sentAt: new Date(0), note: 'n', id: '1' };
  expect(JSON.stringify(show(row))).toBe(
    '{"id":"out_1","sent_at":"1970-01-01T00:00:00.000Z","size":3,"note":"n"}',
  );
});

test('keeps null and leaves out undefined', () => {
  expect(Object.keys(show({ id: '1', sentAt: null, size: 0, note: null, secret: '' }))).toEqual([
    'id',
    'sent_at',
    'size',
  ]);
});
