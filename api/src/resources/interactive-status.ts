import { z } from 'zod';
import { RENDERINGS } from '@gwk/core/states';
import { text } from '@gwk/core/resources/common';

/** Public status of interactive message formats. */
export const DEVICES = ['android', 'iphone', 'web'] as const;
export type Device = (typeof DEVICES)[number];

export const DEVICE_STATUSES = ['works', 'partial', 'broken', 'unknown'] as const;
export type DeviceStatus = (typeof DEVICE_STATUSES)[number];

export const MAX_DEVICE_NOTE = 500;

/** Version of the app on a device. */
export const appVersion = () => text(1, 40).meta({ examples: ['2.26.41.75'] });

export const MonitorStatus = z.object({
  result: z.enum(['ok', 'failed', 'pending']),
  checked_at: z.iso.datetime().nullable(),
  /** Share of successful runs among the finished runs of 30 days; null without finished runs. */
  success_rate_30d: z.number().min(0).max(1).nullable(),
  runs_30d: z.number().int().min(0),
});

export const DeviceStatusOut = z.object({
  status: z.enum(DEVICE_STATUSES),
  note: z.string().nullable(),
  app_version: z.string().nullable(),
  checked_at: z.iso.datetime(),
});

const devices = Object.fromEntries(DEVICES.map((device) => [device, DeviceStatusOut.nullable()])) as Record<
  Device,
  z.ZodNullable<typeof DeviceStatusOut>
>;

export const InteractiveStatusOut = z.object({
  generated_at: z.iso.datetime(),
  formats: z.array(
    z.object({
      format: z.enum(RENDERINGS),
      label: z.string(),
      /** Absent if the monitor never ran. */
      monitor: MonitorStatus.nullish(),
      devices: z.object(devices),
    }),
  ),
});
export type InteractiveStatusOut = z.infer<typeof InteractiveStatusOut>;
