import type { Socket } from 'node:net';
import type { Client, Pool, PoolClient } from 'pg';

/** Beyond a statement's time: for its answer to come, also from a host that is busy. */
const GRACE_MS = 5_000;

/**
 * A host that loses its power says nothing, and the kernel sends again for some 15 minutes until it takes a connection
 * for lost: for as long would a failover to another host go unnoticed. Postgres ends each statement after its time and
 * says so; where nothing at all has come for longer than that, nobody is there, and the connection ends, as if the host
 * had closed it. Connections that nobody uses have left the pool by then (after ten seconds). What is sent is no sign of
 * life: of a line of statements each would put the end off.
 *
 * @param statementTimeoutMs 0: statements take as long as they take, and so may silence.
 */
export function endWhenSilent(pool: Pool, statementTimeoutMs: number): void {
  if (statementTimeoutMs === 0) return;
  const silences = new WeakMap<PoolClient, NodeJS.Timeout>();
  pool.on('connect', (client) => {
    const socket = (client as Client).connection.stream as Socket;
    const giveUp = () => socket.destroy(new Error('Postgres does not answer: the connection is given up'));
    const silence = setTimeout(giveUp, statementTimeoutMs + GRACE_MS).unref();
    socket.on('data', () => silence.refresh()).once('close', () => clearTimeout(silence));
    silences.set(client, silence);
  });
  pool.on('acquire', (client) => silences.get(client)?.refresh());
}
