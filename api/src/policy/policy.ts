import { z } from 'zod';
import { toFieldErrors } from '@gwk/core/problems/field-errors';
import { Problem } from '@gwk/core/problems/problems';
import { text, visibleText } from '@gwk/core/resources/common';

/** Policies, with overrides at three levels: environment, account, instance. */
const TIME = /^([01][0-9]|2[0-3]):[0-5][0-9]$/;
const word = () => text(1, 30);
const MAX_CALL_TEXT = 4_096;

/** `kubectl explain` and OpenAPI show the descriptions. */
const describe = <T extends z.ZodType>(schema: T, description: string): T => schema.meta({ description });

const HoursOverrides = z.strictObject({
  start: describe(z.string().regex(TIME).nullish(), 'Start of the window, HH:MM.'),
  end: describe(
    z.string().regex(TIME).nullish(),
    'End of the window, HH:MM. If it is before start, the window ends on the next day.',
  ),
  timezone: describe(
    z.string().min(1).max(64).nullish(),
    'IANA name of the time zone, e.g. America/Sao_Paulo.',
  ),
  outside: describe(
    z.enum(['reject', 'schedule']).nullish(),
    'How to handle a message outside the window: reject refuses it, schedule delays it until the window opens.',
  ),
});
const MassBlockOverrides = z.strictObject({
  max_contacts: describe(
    z.number().int().min(1).max(10_000).nullish(),
    'Maximum number of contacts that may receive nearly the same text within the time window.',
  ),
  window_minutes: describe(
    z.number().int().min(1).max(1440).nullish(),
    'Length of the time window, in minutes.',
  ),
});
const OptOutOverrides = z.strictObject({
  enabled: describe(z.boolean().nullish(), 'Whether opt-out and resume words are recognised.'),
  keywords: describe(
    z.array(word()).min(1).max(20).nullish(),
    'Opt-out words. A message that consists of one of them opts its contact out; case and accents do not matter.',
  ),
  resume_keywords: describe(
    z.array(word()).max(20).nullish(),
    'Resume words. A message that consists of one of them ends the opt-out.',
  ),
});

const RejectCallsOverrides = z.strictObject({
  enabled: describe(z.boolean().nullish(), 'Whether calls are rejected.'),
  text: describe(
    visibleText(MAX_CALL_TEXT).nullish(),
    'Text that is sent to the caller as a message, under the rules of all messages. None if not set.',
  ),
});

export const PolicyOverrides = z.strictObject({
  active_hours: describe(HoursOverrides.nullish(), 'When messages may be sent; at any time if not set.'),
  mass_block: describe(
    MassBlockOverrides.nullish(),
    'Limit on sending nearly the same text to many contacts.',
  ),
  opt_out: describe(OptOutOverrides.nullish(), 'How contacts opt out of messages.'),
  menu_ttl_hours: describe(
    z.number().int().min(1).max(168).nullish(),
    'How long typed replies to a menu are recognised, in hours.',
  ),
  new_contacts_per_day: describe(
    z.number().int().min(0).max(100_000).nullish(),
    'Maximum number of new contacts (who never wrote) to write to in 24 hours.',
  ),
  messages_per_minute: describe(
    z.number().int().min(1).max(6000).nullish(),
    'Maximum messages sent per minute.',
  ),
  reject_calls: describe(RejectCallsOverrides.nullish(), 'Whether calls are rejected, and with which text.'),
});
export type PolicyOverrides = z.infer<typeof PolicyOverrides>;

const ActiveHours = z.object({
  start: z.string(),
  end: z.string(),
  timezone: z.string(),
  outside: z.enum(['reject', 'schedule']),
});
export type ActiveHours = z.infer<typeof ActiveHours>;

const Policy = z.object({
  /** Null: no window. */
  active_hours: ActiveHours.nullable(),
  mass_block: z.object({ max_contacts: z.int(), window_minutes: z.int() }),
  opt_out: z.object({
    enabled: z.boolean(),
    keywords: z.array(z.string()),
    resume_keywords: z.array(z.string()),
  }),
  menu_ttl_hours: z.int(),
  new_contacts_per_day: z.int(),
  messages_per_minute: z.int(),
  reject_calls: z.object({ enabled: z.boolean(), text: z.string().nullable() }),
});
export type Policy = z.infer<typeof Policy>;

const POLICY_LEVELS = ['environment', 'account', 'instance'] as const;
type PolicyLevel = (typeof POLICY_LEVELS)[number];

/** The effective policy, and the level from which each key comes. */
export const PolicyOut = Policy.extend({
  sources: z.record(Policy.keyof(), z.enum(POLICY_LEVELS)),
});
export type PolicyOut = z.infer<typeof PolicyOut>;

const NEW_CONTACTS_PER_DAY_WARMING_UP = 50;
export const WARM_UP_DAYS = 14;

const DEFAULTS: Policy = {
  active_hours: null,
  mass_block: { max_contacts: 30, window_minutes: 60 },
  opt_out: {
    enabled: true,
    keywords: ['SAIR', 'PARAR', 'STOP'],
    resume_keywords: ['VOLTAR', 'START'],
  },
  menu_ttl_hours: 24,
  new_contacts_per_day: 250,
  messages_per_minute: 60,
  reject_calls: { enabled: false, text: null },
};

/**
 * Parses overrides from a request, a manifest or a command.
 * @throws Problem `validation-error` for an unknown key, `invalid-timezone`, `invalid-policy` for other invalid values
 */
export function parsePolicyOverrides(value: unknown): PolicyOverrides {
  const result = PolicyOverrides.safeParse(value);
  if (!result.success) throw policyProblem(result.error);
  const hours = result.data.active_hours;
  if (hours) validateActiveHours(hours);
  return result.data;
}

/** Parses overrides from JSON. @throws Error that names every fault */
export function parsePolicyJson(text: string): PolicyOverrides {
  try {
    return parsePolicyOverrides(JSON.parse(text));
  } catch (error) {
    const faults = error instanceof Problem ? (error.extras.errors ?? []) : [];
    const message = faults.map(({ path, message }) => `${path}: ${message}`).join('; ');
    throw new Error(message || (error as Error).message, { cause: error });
  }
}

function policyProblem(error: z.ZodError): Problem {
  const unknown = error.issues.some((issue) => issue.code === 'unrecognized_keys');
  return new Problem(unknown ? 'validation-error' : 'invalid-policy', {
    errors: toFieldErrors(error, ['policy']),
  });
}

function validateActiveHours(hours: NonNullable<PolicyOverrides['active_hours']>): void {
  const given = [hours.start, hours.end, hours.timezone].filter(
    (part) => part !== null && part !== undefined,
  );
  if (given.length !== 0 && given.length !== 3) {
    throw new Problem('invalid-policy', {
      detail: {
        pt: 'active_hours precisa de start, end e timezone juntos.',
        en: 'active_hours needs start, end and timezone together.',
      },
    });
  }
  if (hours.timezone && !isTimeZone(hours.timezone)) throw new Problem('invalid-timezone');
}

/** Whether a name is an IANA time zone. Intl also accepts offsets such as `+03:00`, which are refused here. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+\-/]*$/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/**
 * Computes the effective policy. Each key comes from the most specific level that sets it; parts missing there have
 * their default. During warm-up the default of `new_contacts_per_day` is lower.
 */
export function resolvePolicy(
  levels: Record<PolicyLevel, PolicyOverrides>,
  instance: { warmingUp: boolean },
): PolicyOut {
  const sources = {} as Record<keyof Policy, PolicyLevel>;
  const pick = <K extends keyof Policy>(key: K): PolicyOverrides[K] => {
    const level =
      (['instance', 'account'] as const).find((name) => isSet(levels[name][key])) ?? 'environment';
    sources[key] = level;
    return levels[level][key];
  };
  const newContacts = instance.warmingUp ? NEW_CONTACTS_PER_DAY_WARMING_UP : DEFAULTS.new_contacts_per_day;
  return {
    active_hours: resolveHours(pick('active_hours')),
    mass_block: withDefaults(DEFAULTS.mass_block, pick('mass_block')),
    opt_out: withDefaults(DEFAULTS.opt_out, pick('opt_out')),
    menu_ttl_hours: pick('menu_ttl_hours') ?? DEFAULTS.menu_ttl_hours,
    new_contacts_per_day: pick('new_contacts_per_day') ?? newContacts,
    messages_per_minute: pick('messages_per_minute') ?? DEFAULTS.messages_per_minute,
    reject_calls: withDefaults(DEFAULTS.reject_calls, pick('reject_calls')),
    sources,
  };
}

const isSet = (value: unknown): boolean => value !== null && value !== undefined;

function resolveHours(hours: PolicyOverrides['active_hours']): ActiveHours | null {
  if (!hours?.start || !hours.end || !hours.timezone) return null;
  return { start: hours.start, end: hours.end, timezone: hours.timezone, outside: hours.outside ?? 'reject' };
}

function withDefaults<T extends object>(
  defaults: T,
  given: { [K in keyof T]?: T[K] | null } | null | undefined,
): T {
  const set = Object.entries(given ?? {}).filter(([, value]) => isSet(value));
  return { ...defaults, ...Object.fromEntries(set) };
}

/** Warm-up is the first 14 days after the first pairing, or after the creation of a sandbox. */
export function isWarmingUp(pairedAt: Date | null, now: Date): boolean {
  return pairedAt === null || now.getTime() < pairedAt.getTime() + WARM_UP_DAYS * 86_400_000;
}
