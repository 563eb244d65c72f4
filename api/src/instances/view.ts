import { toPublicId } from '@gwk/core/ids/ids';
import { InstanceOut, type LiveStatus } from '../resources/instance.js';
import type { Instance } from '../generated/prisma/client.js';
import { rowView } from '../http/row-view.js';

/** `live` is absent if it was not requested or the engine did not answer. */
export const instanceOut = rowView<InstanceOut, Instance & { live?: LiveStatus | null }>(InstanceOut, {
  id: ({ id }) => toPublicId('instance', id),
  live: ({ live }) => live ?? undefined,
});
