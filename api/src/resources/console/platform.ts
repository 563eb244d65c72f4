import { z } from 'zod';
import { INSTANCE_STATES, RENDERINGS } from '@gwk/core/states';
import { AccountOut } from './account.js';
import { idOut, text, visibleText } from '@gwk/core/resources/common';
import { appVersion, DEVICE_STATUSES, DEVICES, MAX_DEVICE_NOTE } from '../interactive-status.js';

/** The gateway as administrators of the platform see it: all accounts, numbers and programs. */

/** Limits of an account with their smallest and largest value. */
export const LIMIT_RANGES = {
  instances: [0, 1_000_000],
  requests_per_minute: [1, 100_000_000],
  media_bytes: [0, 1_000_000_000_000_000],
  media_files: [0, 100_000_000],
  event_bytes: [0, 1_000_000_000_000_000],
} as const;
export type AccountLimit = keyof typeof LIMIT_RANGES;

const mapLimits = <T>(make: (range: (typeof LIMIT_RANGES)[AccountLimit]) => T): Record<AccountLimit, T> =>
  Object.fromEntries(Object.entries(LIMIT_RANGES).map(([name, range]) => [name, make(range)])) as Record<
    AccountLimit,
    T
  >;

const limits = () =>
  z.strictObject(mapLimits(([min, max]) => z.number().int().min(min).max(max).nullable().optional())).meta({
    description: 'null: the configured default.',
    examples: [{ instances: 10 }],
  });

export const accountName = () => visibleText(80).meta({ examples: ['Loja Centro'] });

export const namespaceName = () =>
  z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'is not a valid namespace name');

const namespaces = () =>
  z
    .array(namespaceName())
    .max(100)
    .meta({
      description: 'Kubernetes namespaces whose Instances may use the account.',
      examples: [['shop']],
    });

export const PlatformAccountOut = AccountOut.omit({ suspended: true }).extend({
  suspended_at: z.iso.datetime().nullable(),
  namespaces: z.array(z.string()),
  own_limits: z
    .object(mapLimits(() => z.number().int().min(0).nullable()))
    .meta({ description: 'Limits of the plan; null: the configured default. `limits` has those in effect.' }),
});
export type PlatformAccountOut = z.infer<typeof PlatformAccountOut>;

export const PlatformAccountCreate = z.strictObject({
  name: accountName(),
  limits: limits().default({}),
  namespaces: namespaces().default([]),
});

export const PlatformAccountUpdate = z.strictObject({
  name: accountName().optional(),
  limits: limits().optional(),
  suspended: z.boolean().optional(),
  namespaces: namespaces().optional(),
});

const count = () => z.number().int().min(0);
const engineVersion = () =>
  z.string().nullable().meta({ description: 'Version of the running engine; null: none runs.' });

export const PlatformInstanceOut = z.object({
  id: idOut('instance'),
  name: z.string(),
  kind: z.string(),
  account_id: idOut('account'),
  account_name: z.string(),
  state: z.enum(INSTANCE_STATES),
  state_changed_at: z.iso.datetime(),
  engine_version: engineVersion(),
  engine_pod: z.string().nullable(),
});

/** Programs that show their version. */
export const PROGRAMS = ['api', 'worker', 'operator'] as const;

export const PlatformOverviewOut = z.object({
  accounts: z.object({ total: count(), suspended: count() }),
  instances: z.array(
    z.object({ state: z.enum(INSTANCE_STATES), engine_version: engineVersion(), count: count() }),
  ),
  programs: z
    .array(
      z.object({
        program: z.enum(PROGRAMS),
        version: z.string(),
        host: z.string(),
        seen_at: z.iso.datetime(),
      }),
    )
    .meta({ description: 'API, worker and operator processes of the last minutes.' }),
});

const versionText = () => z.string().meta({ examples: ['2.3000.1044142122'] });
const author = () =>
  z
    .string()
    .nullable()
    .meta({ description: 'E-mail of the person, or `cli:<name>`.', examples: ['ana@example.com'] });

/** The client version that engines announce to the network. */
export const NetworkVersionOut = z.object({
  pinned: z.object({ version: versionText(), at: z.iso.datetime(), by: author() }).nullable().meta({
    description:
      'The version that an administrator has pinned for engines with `auto` or `bundled`; null: none.',
  }),
  served: z
    .object({ version: versionText(), read_at: z.iso.datetime(), source: z.string() })
    .nullable()
    .meta({
      description: 'The last version that the network served to its own web client and that is plausible.',
    }),
  bundled: z.object({ version: versionText(), day: z.iso.date() }).meta({
    description: 'The version of the Baileys in this release, and the day on which the network served it.',
  }),
  bundled_days_behind: count().meta({
    description: 'Age of the bundled version in days while the network serves a newer one; 0 otherwise.',
  }),
  last_read: z
    .object({
      at: z.iso.datetime(),
      fault: z.string().nullable().meta({ description: 'Why it gave no version; null: it did.' }),
    })
    .nullable()
    .meta({
      description: 'The last read by a worker, also after a change from `auto`; null: none yet.',
    }),
  versions: z
    .array(
      z.object({
        version: versionText(),
        accepted_at: z.iso.datetime().nullable(),
        refused_at: z.iso.datetime().nullable(),
      }),
    )
    .meta({ description: 'Known versions, newest first, with the last login and the last refusal.' }),
});

export const NetworkVersionUpdate = z.strictObject({
  version: text(1, 40)
    .nullable()
    .meta({ description: 'The version to pin; null: unpin.', examples: ['2.3000.1044142122'] }),
});

export const DeviceCheckIn = z.strictObject({
  format: z.enum(RENDERINGS),
  device: z.enum(DEVICES),
  status: z.enum(DEVICE_STATUSES),
  app_version: appVersion().nullable().default(null),
  note: text(1, MAX_DEVICE_NOTE).nullable().default(null),
});

export const DeviceCheckList = z.object({
  data: z.array(
    z.object({
      format: z.enum(RENDERINGS),
      device: z.enum(DEVICES),
      status: z.enum(DEVICE_STATUSES),
      app_version: z.string().nullable(),
      note: z.string().nullable(),
      checked_at: z.iso.datetime(),
      checked_by: author(),
    }),
  ),
});
