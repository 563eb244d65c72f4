import { NetworkVersionOut, NetworkVersionUpdate } from '../../resources/console/platform.js';
import { pinClientVersion, readClientVersions } from '../../client-version/store.js';
import { viewClientVersions } from '../../client-version/view.js';
import type { Database } from '../../database/database.js';
import { operation } from '../../http/operation.js';
import { readAuthors } from './authors.js';

const PATH = '/console/api/platform/network-version';

const getNetworkVersion = operation({
  name: 'getNetworkVersion',
  method: 'GET',
  path: PATH,
  summary: 'Show the client version that engines announce to the network',
  scope: null,
  person: 'platform-admin',
  status: 200,
  result: NetworkVersionOut,
  async handle({ services: { db } }) {
    return { status: 200, body: await view(db), headers: ['Cache-Control', 'no-store'] };
  },
});

const pinNetworkVersion = operation({
  name: 'pinNetworkVersion',
  method: 'PATCH',
  path: PATH,
  summary: 'Pin the client version of all engines, or take the pin back',
  description:
    'Engines that the network refuses try the version within seconds. Others announce it at their next connection.',
  scope: null,
  person: 'platform-admin',
  status: 200,
  body: NetworkVersionUpdate,
  result: NetworkVersionOut,
  async handle({ session, body: { version }, services: { db } }) {
    await db.$transaction((tx) => pinClientVersion(tx, `user:${session!.userId}`, version));
    return { status: 200, body: await view(db) };
  },
});

async function view(db: Database) {
  const stored = await readClientVersions(db);
  return viewClientVersions(stored, await readAuthors(db, [stored.state.pinnedBy]));
}

export const networkVersionOperations = [getNetworkVersion, pinNetworkVersion];
