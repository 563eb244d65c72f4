import type { Socket } from 'node:net';
import type { Client, Pool, PoolClient } from 'pg';

/** Time after the statement timeout for the answer of a busy host. */
const GRACE_MS = 5_000;

/**
 * Closes connections of a host that lost power, so that a failover is noticed before TCP gives up after about 15 minutes.
 * Postgres ends every statement after its timeout and reports it, so a connection that received nothing for longer is dead.
 * Sent data does not count, because a pipeline of statements would postpone the end. Idle connections leave the pool
 * after 30 s, before this would close them.
 * @param statementTimeoutMs 0: statements have no timeout, and connections are never closed
 */
export function closeUnresponsiveConnections(pool: Pool, statementTimeoutMs: number): void {
  if (statementTimeoutMs === 0) return;
  const timers = new WeakMap<PoolClient, NodeJS.Timeout>();
  pool.on('connect', (client) => {
    const socket = (client as Client).connection.stream as Socket;
    const close = () => socket.destroy(new Error('Postgres does not answer; connection closed'));
    const timer = setTimeout(close, statementTimeoutMs + GRACE_MS).unref();
    socket.on('data', () => timer.refresh()).once('close', () => clearTimeout(timer));
    timers.set(client, timer);
  });
  pool.on('acquire', (client) => timers.get(client)?.refresh());
}
