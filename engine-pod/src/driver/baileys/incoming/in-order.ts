import type { BinaryNode, WASocket } from '@whiskeysockets/baileys';

type Take = (stanza: BinaryNode) => unknown;
/** Resolves once Baileys is through with the message, which `take` gives to it. */
type Taking = (stanza: BinaryNode, take: () => Promise<unknown>) => Promise<void>;

/**
 * Messages are taken one after the other, as they came. Baileys looks up the names of the sender before it queues a
 * message, so that later ones overtake it; and it has a queue apart for what came while the number was away, beside
 * which new ones pass. A message of a group that overtakes the one with its key cannot be read.
 */
export function takeMessagesInOrder({ ws }: Pick<WASocket, 'ws'>, taking: Taking): void {
  const name = 'CB:message';
  const takers = ws.listeners(name) as Take[];
  ws.removeAllListeners(name);
  let last: Promise<unknown> = Promise.resolve();
  ws.on(name, (stanza: BinaryNode) => {
    last = last
      // What is not taken before the connection ends comes again with the next one.
      .then(() =>
        ws.isOpen ? taking(stanza, () => Promise.all(takers.map((take) => take(asNew(stanza))))) : undefined,
      )
      .catch(() => undefined);
  });
}

/** Without the mark that sends it to the other queue. */
function asNew({ attrs: { offline: _, ...attrs }, ...stanza }: BinaryNode): BinaryNode {
  return { ...stanza, attrs };
}
