import type { Device, DeviceStatus } from '../resources/interactive-status.js';
import type { Rendering } from '@gwk/core/states';
import { audit } from '../accounts/audit-log.js';
import type { DeviceCheck, Prisma } from '../generated/prisma/client.js';

/** How a person has seen an app show an interactive format. */
export interface DeviceCheckResult {
  format: Rendering;
  device: Device;
  status: DeviceStatus;
  appVersion: string | null;
  note: string | null;
}

/** Records the result of a check, which replaces the former one. */
export async function recordDeviceCheck(
  tx: Prisma.TransactionClient,
  actor: string,
  { format, device, ...result }: DeviceCheckResult,
): Promise<DeviceCheck> {
  const data = { ...result, checkedAt: new Date(), checkedBy: actor };
  const { status, appVersion } = result;
  await audit(tx, {
    actor,
    accountId: null,
    action: 'status.set',
    subject: `${format} ${device}`,
    detail: { status, ...(appVersion !== null && { app_version: appVersion }) },
  });
  return tx.deviceCheck.upsert({
    where: { format_device: { format, device } },
    create: { format, device, ...data },
    update: data,
  });
}
