import type { IdKind } from '@gwk/core/ids';

/** Which ids stand in a path under which name; parameters of other names are text. */
export const PATH_IDS: Readonly<Record<string, IdKind>> = {
  instance_id: 'instance',
  message_id: 'message',
  media_id: 'media',
  event_id: 'event',
  endpoint_id: 'endpoint',
  delivery_id: 'delivery',
};
