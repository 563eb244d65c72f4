import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { addCommand, openGateway, parseDuration, print, renderJson, type CommonOptions } from '../command.js';
import { CliError } from '../errors.js';
import { findUnready } from './readiness.js';

const POLL_MS = 1_000;

interface CheckOptions extends CommonOptions {
  wait: number;
}

export function registerCheck(program: Command): void {
  addCommand(
    program,
    'check [instances...]',
    'succeed if the gateway answers, the key is valid and the instances are connected',
  )
    .option('--wait <time>', 'wait for it, e.g. 2m', parseDuration, 0)
    .addHelpText('after', '\nWithout instances it checks all of them. After the wait it exits with code 7.\n')
    .action(check);
}

async function check(instances: string[], { wait, ...options }: CheckOptions): Promise<void> {
  const gateway = openGateway(options);
  const until = Date.now() + wait;
  for (;;) {
    const unready = await findUnready(gateway, instances);
    if (!unready) break;
    if (!unready.isTemporary || wait === 0) throw new CliError(unready.kind, unready.reason);
    if (Date.now() >= until)
      throw new CliError('timeout', `Not ready after ${wait / 1000} s\n${unready.reason}`);
    await sleep(Math.min(POLL_MS, until - Date.now()));
  }
  print(options.json ? renderJson({ ready: true }) : 'ready');
}
