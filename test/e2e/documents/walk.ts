import { BLOCKS, findBlock, WALK, type AdministratorPage } from '../../support/docs/blocks.js';
import { neededPostgres } from '../../support/servers/postgres-programs.js';
import type { E2eStage } from '../stage.js';
import { clock, type Context } from '../steps.js';
import { installForProduction, tryIt } from './install.js';
import { createInstance } from './kubernetes.js';
import { operate } from './operate.js';
import { Reader } from './reader.js';
import { Stores } from './stores.js';
import { removeAll, uninstall } from './uninstall.js';
import { upgrade } from './upgrade.js';

/** Types the commands of the pages for administrators, after the gateway of the other scenarios is gone. */
export async function typePages({ stage }: Context): Promise<string> {
  await stage.uninstall();
  return walk(stage);
}

export async function walk(stage: E2eStage): Promise<string> {
  const stores = await Stores.start(stage.cluster.folder);
  const { postgres } = stores;
  const reader = new Reader(stage, {
    ...neededPostgres().env,
    DATABASE_URL: postgres.url('gwk', 'gwk'),
    ADMIN_URL: postgres.url('administrator', 'postgres'),
    BEFORE_URL: postgres.url('gwk', 'gwk_before'),
  });
  const times: string[] = [];
  const timed = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const took = clock();
    const result = await work();
    times.push(`${name} ${took()}`);
    return result;
  };
  try {
    await timed('installation', () => installForProduction(reader, stores));
    await timed('Instance', () => createInstance(reader));
    await timed('upgrade', () => upgrade(reader));
    await timed('operation', () => operate(reader));
    await timed('removal', () => uninstall(reader));
    await timed('trial', () => tryIt(reader));
    await timed('removal', () => removeAll(reader));
  } finally {
    await stores.stop();
  }
  expectAllTyped(reader);
  return times.join(', ');
}

/** @throws Error if a block that this walk claims to type was not typed */
function expectAllTyped({ typed }: Reader): void {
  const claimed = Object.entries(BLOCKS).flatMap(([page, rows]) =>
    rows
      .filter(([, where]) => where.startsWith(WALK))
      .map(([text]) => findBlock(page as AdministratorPage, text)),
  );
  const missing = claimed.filter((block) => !typed.has(block));
  if (missing.length > 0) throw new Error(`not typed:\n${missing.join('\n')}`);
}
