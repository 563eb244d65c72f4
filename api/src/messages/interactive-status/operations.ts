import {
  DEVICES,
  InteractiveStatusOut,
  type Device,
  type DeviceStatus,
} from '../../resources/interactive-status.js';
import { RENDERINGS, type Rendering } from '@gwk/core/states';
import type { Database } from '../../database/database.js';
import type { DeviceCheck } from '../../generated/prisma/client.js';
import { operation } from '../../http/operation.js';
import { LABELS } from './formats.js';

export const interactiveStatusOperations = [
  operation({
    name: 'getInteractiveStatus',
    method: 'GET',
    path: '/v1/status/interactive',
    summary: 'Which interactive formats work',
    scope: null,
    status: 200,
    result: InteractiveStatusOut,
    async handle({ services }) {
      return { status: 200, body: await interactiveStatus(services.db) };
    },
  }),
];

async function interactiveStatus(db: Database): Promise<InteractiveStatusOut> {
  const [monitored, checked] = await Promise.all([readMonitor(db), db.deviceCheck.findMany()]);
  return {
    generated_at: new Date().toISOString(),
    formats: RENDERINGS.map((format) => {
      const monitor = monitored.get(format);
      const ofFormat = checked.filter((check) => check.format === format);
      return {
        format,
        label: LABELS[format],
        ...(monitor && { monitor }),
        devices: Object.fromEntries(
          DEVICES.map((device) => [device, deviceStatus(ofFormat.find((check) => check.device === device))]),
        ) as Record<Device, ReturnType<typeof deviceStatus>>,
      };
    }),
  };
}

function deviceStatus(check: DeviceCheck | undefined) {
  if (!check) return null;
  const { status, note, appVersion, checkedAt } = check;
  return {
    status: status as DeviceStatus,
    note,
    app_version: appVersion,
    checked_at: checkedAt.toISOString(),
  };
}

type MonitorStatus = NonNullable<InteractiveStatusOut['formats'][number]['monitor']>;

interface MonitorRow {
  format: Rendering;
  result: MonitorStatus['result'];
  checked_at: Date | null;
  runs: number;
  ok: number;
  judged: number;
}

async function readMonitor(db: Database): Promise<Map<Rendering, MonitorStatus>> {
  const rows = await db.$queryRaw<MonitorRow[]>`
    SELECT format, (array_agg(result ORDER BY started_at DESC))[1] AS result, max(checked_at) AS checked_at,
      count(*)::integer AS runs, count(*) FILTER (WHERE result = 'ok')::integer AS ok,
      count(*) FILTER (WHERE result <> 'pending')::integer AS judged
    FROM format_checks WHERE started_at > now() - interval '30 days' GROUP BY format`;
  return new Map(
    rows.map(({ format, result, checked_at, runs, ok, judged }) => [
      format,
      {
        result,
        checked_at: checked_at?.toISOString() ?? null,
        success_rate_30d: judged === 0 ? null : Math.round((ok / judged) * 10_000) / 10_000,
        runs_30d: runs,
      },
    ]),
  );
}
