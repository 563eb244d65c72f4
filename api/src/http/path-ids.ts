import type { IdKind } from '@gwk/core/ids';

/** Path parameters that are ids, with their kind. All other parameters are text. */
export const PATH_IDS: Readonly<Record<string, IdKind>> = {
  instance_id: 'instance',
  message_id: 'message',
  media_id: 'media',
  event_id: 'event',
  endpoint_id: 'endpoint',
  delivery_id: 'delivery',
};
