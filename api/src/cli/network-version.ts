import type { Command } from 'commander';
import { pinClientVersion, readClientVersions } from '../client-version/store.js';
import { viewClientVersions } from '../client-version/view.js';
import { printChange, printResult, readActor } from './run.js';

/** `gwk network-version ...`: the client version that engines announce to the network. */
export function registerNetworkVersion(program: Command): void {
  const command = program
    .command('network-version')
    .description('the client version that engines announce to the network')
    .addHelpText('after', '\nDATABASE_URL names the database. Prints JSON.\n');

  command
    .command('show')
    .description('show the pinned, served and bundled versions, and which the network accepts')
    .action(() => printResult('network-version show', show));

  command
    .command('pin <version>')
    .description(
      'pin a version for engines with auto or bundled; refused engines try it within one renewal of their lease (10 s, default)',
    )
    .action((version: string) => printChange('network-version pin', (tx) => pin(tx, version)));

  command
    .command('unpin')
    .description('unpin: each engine uses its setting again')
    .action(() => printChange('network-version unpin', (tx) => pin(tx, null)));
}

const show = async (db: Parameters<typeof readClientVersions>[0]) =>
  viewClientVersions(await readClientVersions(db));

async function pin(tx: Parameters<typeof pinClientVersion>[0], version: string | null) {
  await pinClientVersion(tx, readActor(), version);
  return show(tx);
}
