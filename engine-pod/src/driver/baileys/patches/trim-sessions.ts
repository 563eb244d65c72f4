/** libsignal's structure, as far as it is used here. */
export interface Chain {
  chainKey: { counter: number; key?: Buffer };
  /** Keys of overtaken messages, by counter. */
  messageKeys: Record<string, Buffer>;
}

export interface Session {
  indexInfo: { used: number; baseKey: Buffer };
  currentRatchet: {
    ephemeralKeyPair: { pubKey: Buffer };
    lastRemoteEphemeralKey: Buffer;
  };
  _chains: Record<string, Chain>;
}

/** Former chains in which overtaken messages may still come. Apps keep as many. */
const MAX_FORMER_CHAINS = 5;
/** Keys of overtaken messages in all sessions with one device: as many as one chain may skip at once. */
const MAX_SKIPPED = 2_000;

/**
 * Trims a session to what apps keep for overtaken messages: the latest. Stock libsignal keeps every former chain
 * and up to 2,000 skipped keys for each message, at the sender's choice, and reads and writes all of it with every
 * message.
 */
export function trimSessions(sessions: Record<string, Session>): void {
  let left = MAX_SKIPPED;
  const latestFirst = Object.values(sessions).sort(
    (a, b) => (b.indexInfo.used || 0) - (a.indexInfo.used || 0),
  );
  for (const session of latestFirst) {
    dropFormerChains(session);
    // Newest chain first: properties keep their insertion order.
    for (const chain of Object.values(session._chains).reverse()) left -= dropKeys(chain, left);
  }
}

function dropFormerChains({ _chains, currentRatchet }: Session): void {
  const current = [currentRatchet.ephemeralKeyPair.pubKey, currentRatchet.lastRemoteEphemeralKey];
  const names = current.map((key) => key.toString('base64'));
  const former = Object.keys(_chains).filter((name) => !names.includes(name));
  const dropped = former.slice(0, Math.max(0, former.length - MAX_FORMER_CHAINS));
  for (const name of dropped) delete _chains[name];
}

/** @returns the number of keys left */
function dropKeys(chain: Chain, max: number): number {
  const counters = Object.keys(chain.messageKeys);
  // Numeric property names are in ascending order.
  const dropped = counters.slice(0, Math.max(0, counters.length - max));
  for (const counter of dropped) delete chain.messageKeys[counter];
  return counters.length - dropped.length;
}
