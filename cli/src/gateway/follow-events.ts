import type { FollowQuery, Gwk, GwkEvent } from '@gwk/client';
import { note } from '../command.js';
import { explainFailure } from '../errors.js';

/** Follows the events, also when a stream ends. It gives an event at least once. */
export async function* followEvents(client: Gwk, query: FollowQuery): AsyncGenerator<GwkEvent> {
  // Following repeats what fails. This call does not, so a wrong address or key ends the command.
  await client.events.list({ ...query, after: query.after ?? 'now', limit: 1 });
  const onLost = (reason: Error): void =>
    note(`gwk: ${explainFailure(reason)?.message ?? reason.message}; continuing`);
  for await (const { event } of client.events.follow(query, { onLost })) yield event;
}
