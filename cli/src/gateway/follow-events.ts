import {
  ApiError,
  ConnectionError,
  StreamEndedError,
  type FollowQuery,
  type Gwk,
  type GwkEvent,
} from '@gwk/client';
import { note } from '../command.js';
import { explainFailure } from '../errors.js';

/** Follows the events, also when a stream ends. It gives an event at least once. */
export async function* followEvents(client: Gwk, query: FollowQuery): AsyncGenerator<GwkEvent> {
  let isFirst = true;
  const onLost = (reason: Error): void => {
    // The first failure ends it: the address or the key may be wrong.
    if (isFirst && (reason instanceof ConnectionError || reason instanceof ApiError)) throw reason;
    isFirst = false;
    const text = reason instanceof StreamEndedError ? reason.code : explainFailure(reason)?.message;
    note(`gwk: ${text ?? reason.message}; continuing`);
  };
  for await (const { event } of client.events.follow(query, { onLost })) {
    isFirst = false;
    yield event;
  }
}
