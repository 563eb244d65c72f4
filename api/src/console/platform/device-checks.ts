import { DeviceCheckIn, DeviceCheckList } from '../../resources/console/platform.js';
import type { Device, DeviceStatus } from '../../resources/interactive-status.js';
import type { Rendering } from '@gwk/core/states';
import type { z } from 'zod';
import type { Database } from '../../database/database.js';
import type { DeviceCheck } from '../../generated/prisma/client.js';
import { operation } from '../../http/operation.js';
import { recordDeviceCheck } from '../../messages/device-checks.js';
import { readAuthors } from './authors.js';

const PATH = '/console/api/platform/device-checks';

const listDeviceChecks = operation({
  name: 'listDeviceChecks',
  method: 'GET',
  path: PATH,
  summary: 'List the checks of interactive formats on devices, with their authors',
  scope: null,
  person: 'platform-admin',
  status: 200,
  result: DeviceCheckList,
  async handle({ services: { db } }) {
    const rows = await db.deviceCheck.findMany({ orderBy: [{ format: 'asc' }, { device: 'asc' }] });
    return { status: 200, body: { data: await view(db, rows) } };
  },
});

const setDeviceCheck = operation({
  name: 'setDeviceCheck',
  method: 'POST',
  path: PATH,
  summary: 'Record how an app shows an interactive format',
  description: 'Replaces the former result. `GET /v1/status/interactive` shows it without its author.',
  scope: null,
  person: 'platform-admin',
  status: 200,
  body: DeviceCheckIn,
  result: DeviceCheckList.shape.data.element,
  async handle({ session, body: { app_version: appVersion, ...check }, services: { db } }) {
    const row = await db.$transaction((tx) =>
      recordDeviceCheck(tx, `user:${session!.userId}`, { ...check, appVersion }),
    );
    const [shown] = await view(db, [row]);
    return { status: 200, body: shown };
  },
});

async function view(
  db: Database,
  rows: readonly DeviceCheck[],
): Promise<z.output<typeof DeviceCheckList>['data']> {
  const nameAuthor = await readAuthors(
    db,
    rows.map(({ checkedBy }) => checkedBy),
  );
  return rows.map(({ checkedBy, ...row }) => ({
    format: row.format as Rendering,
    device: row.device as Device,
    status: row.status as DeviceStatus,
    app_version: row.appVersion,
    note: row.note,
    checked_at: row.checkedAt.toISOString(),
    checked_by: nameAuthor(checkedBy),
  }));
}

export const deviceCheckOperations = [listDeviceChecks, setDeviceCheck];
