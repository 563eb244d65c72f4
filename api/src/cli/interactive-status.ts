import { appVersion, DEVICE_STATUSES, DEVICES, MAX_DEVICE_NOTE } from '../resources/interactive-status.js';
import { RENDERINGS } from '@gwk/core/states';
import type { Command } from 'commander';
import type { DeviceCheck, Prisma } from '../generated/prisma/client.js';
import { recordDeviceCheck } from '../messages/device-checks.js';
import { CommandError, printChange, printResult, readActor } from './run.js';

/** `gwk interactive-status ...`: manual checks of how apps render interactive formats. */
interface Given {
  format: string;
  device: string;
  status: string;
  appVersion?: string;
  note?: string;
}

export function registerInteractiveStatus(program: Command): void {
  const status = program
    .command('interactive-status')
    .description('manual checks of how apps render interactive formats')
    .addHelpText(
      'after',
      '\nDATABASE_URL names the database. Prints JSON. Shown by GET /v1/status/interactive.\n',
    );

  status
    .command('set')
    .description('record the result on a device')
    .requiredOption('--format <format>', RENDERINGS.join(', '))
    .requiredOption('--device <device>', DEVICES.join(', '))
    .requiredOption('--status <status>', DEVICE_STATUSES.join(', '))
    .option('--app-version <version>', 'version of the app')
    .option('--note <text>', 'description of the result')
    .action((given: Given) => printChange('interactive-status set', (tx) => setStatus(tx, given)));

  status
    .command('list')
    .description('list the recorded results')
    .action(() =>
      printResult('interactive-status list', async (db) => {
        const rows = await db.deviceCheck.findMany({ orderBy: [{ format: 'asc' }, { device: 'asc' }] });
        return rows.map(shown);
      }),
    );
}

async function setStatus(tx: Prisma.TransactionClient, given: Given) {
  const format = oneOf(RENDERINGS, given.format, '--format');
  const device = oneOf(DEVICES, given.device, '--device');
  const status = oneOf(DEVICE_STATUSES, given.status, '--status');
  const { note = null, appVersion: version = null } = given;
  if (note !== null && note.length > MAX_DEVICE_NOTE) {
    throw new CommandError(`--note is longer than ${MAX_DEVICE_NOTE} characters`);
  }
  if (version !== null && !appVersion().safeParse(version).success) {
    throw new CommandError('--app-version has 1 to 40 characters');
  }
  return shown(
    await recordDeviceCheck(tx, readActor(), { format, device, status, appVersion: version, note }),
  );
}

const shown = ({ appVersion, checkedAt, checkedBy, ...row }: DeviceCheck) => ({
  ...row,
  app_version: appVersion,
  checked_at: checkedAt.toISOString(),
  checked_by: checkedBy,
});

function oneOf<const V extends string>(values: readonly V[], text: string, option: string): V {
  const value = values.find((candidate) => candidate === text);
  if (value === undefined) throw new CommandError(`${option} is one of ${values.join(', ')}`);
  return value;
}
