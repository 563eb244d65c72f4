import { DEVICE_STATUSES, DEVICES, MAX_DEVICE_NOTE } from '@gwk/core/resources/interactive-status';
import { RENDERINGS } from '@gwk/core/states';
import type { Command } from 'commander';
import { audit, CommandError, printChange, printResult } from './run.js';

/** `gwk interactive-status ...`: manual checks of how apps render interactive formats. */
interface Given {
  format: string;
  device: string;
  status: string;
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
    .option('--note <text>', 'description of the result')
    .action((given: Given) => printChange('interactive-status set', (tx) => setStatus(tx, given)));

  status
    .command('list')
    .description('list the recorded results')
    .action(() =>
      printResult('interactive-status list', async (db) => {
        const rows = await db.deviceCheck.findMany({ orderBy: [{ format: 'asc' }, { device: 'asc' }] });
        return rows.map(({ checkedAt, ...row }) => ({ ...row, checked_at: checkedAt.toISOString() }));
      }),
    );
}

async function setStatus(tx: Parameters<typeof audit>[0], given: Given) {
  const format = oneOf(RENDERINGS, given.format, '--format');
  const device = oneOf(DEVICES, given.device, '--device');
  const status = oneOf(DEVICE_STATUSES, given.status, '--status');
  const note = given.note ?? null;
  if (note !== null && note.length > MAX_DEVICE_NOTE) {
    throw new CommandError(`--note is longer than ${MAX_DEVICE_NOTE} characters`);
  }
  const checkedAt = new Date();
  const data = { status, note, checkedAt };
  await tx.deviceCheck.upsert({
    where: { format_device: { format, device } },
    create: { format, device, ...data },
    update: data,
  });
  await audit(tx, {
    accountId: null,
    action: 'status.set',
    subject: `${format} ${device}`,
    detail: { status },
  });
  return { format, device, status, note, checked_at: checkedAt.toISOString() };
}

function oneOf<const V extends string>(values: readonly V[], text: string, option: string): V {
  const value = values.find((candidate) => candidate === text);
  if (value === undefined) throw new CommandError(`${option} is one of ${values.join(', ')}`);
  return value;
}
