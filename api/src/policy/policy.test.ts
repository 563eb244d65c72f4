import { Problem } from '@gwk/core/problems/problems';
import {
  isTimeZone,
  isWarmingUp,
  parsePolicyOverrides,
  resolvePolicy,
  type PolicyOverrides,
} from './policy.js';

const none = { environment: {}, account: {}, instance: {} };

describe('resolvePolicy', () => {
  test('returns the defaults without overrides, with the environment as their source', () => {
    expect(resolvePolicy(none, { warmingUp: false })).toEqual({
      active_hours: null,
      mass_block: { max_contacts: 30, window_minutes: 60 },
      opt_out: { enabled: true, keywords: ['SAIR', 'PARAR', 'STOP'], resume_keywords: ['VOLTAR', 'START'] },
      menu_ttl_hours: 24,
      new_contacts_per_day: 250,
      messages_per_minute: 60,
      reject_calls: { enabled: false, text: null },
      sources: {
        active_hours: 'environment',
        mass_block: 'environment',
        opt_out: 'environment',
        menu_ttl_hours: 'environment',
        new_contacts_per_day: 'environment',
        messages_per_minute: 'environment',
        reject_calls: 'environment',
      },
    });
  });

  test('takes each key from the most specific level, and missing parts from the defaults', () => {
    const policy = resolvePolicy(
      {
        environment: { messages_per_minute: 10, menu_ttl_hours: 1 },
        account: { messages_per_minute: 20, mass_block: { max_contacts: 5 } },
        instance: { messages_per_minute: 30, menu_ttl_hours: null },
      },
      { warmingUp: false },
    );
    expect(policy).toMatchObject({
      messages_per_minute: 30,
      menu_ttl_hours: 1,
      mass_block: { max_contacts: 5, window_minutes: 60 },
      sources: { messages_per_minute: 'instance', menu_ttl_hours: 'environment', mass_block: 'account' },
    });
  });

  test('takes the text of rejected calls from the level that rejects them', () => {
    const account = { reject_calls: { enabled: true, text: 'Please write.' } };
    const resolve = (instance: PolicyOverrides) =>
      resolvePolicy({ ...none, account, instance }, { warmingUp: false }).reject_calls;
    expect(resolve({})).toEqual({ enabled: true, text: 'Please write.' });
    expect(resolve({ reject_calls: { enabled: true, text: null } })).toEqual({ enabled: true, text: null });
    expect(resolve({ reject_calls: { text: 'Unused' } })).toEqual({ enabled: false, text: 'Unused' });
  });

  test('lowers only the default of new contacts during warm-up', () => {
    expect(resolvePolicy(none, { warmingUp: true }).new_contacts_per_day).toBe(50);
    const set = { ...none, instance: { new_contacts_per_day: 400 } };
    expect(resolvePolicy(set, { warmingUp: true }).new_contacts_per_day).toBe(400);
  });

  test('reads active hours with only null parts as no window', () => {
    const instance = { active_hours: { start: null, end: null, timezone: null } };
    expect(resolvePolicy({ ...none, instance }, { warmingUp: false }).active_hours).toBeNull();
  });
});

describe('parsePolicyOverrides', () => {
  const codeOf = (value: unknown): string => {
    try {
      parsePolicyOverrides(value);
      return 'accepted';
    } catch (error) {
      if (error instanceof Problem) return error.code;
      throw error;
    }
  };
  const hours = { start: '08:00', end: '18:00', timezone: 'America/Sao_Paulo' };
  test.each<[string, unknown, string]>([
    ['an empty object', {}, 'accepted'],
    ['a whole window', { active_hours: hours }, 'accepted'],
    ['a window over midnight', { active_hours: { ...hours, start: '22:00', end: '06:00' } }, 'accepted'],
    ['the time 24:00', { active_hours: { ...hours, end: '24:00' } }, 'invalid-policy'],
    ['half a window', { active_hours: { start: '08:00' } }, 'invalid-policy'],
    ['an unknown zone', { active_hours: { ...hours, timezone: 'Mars/Olympus' } }, 'invalid-timezone'],
    ['an offset as zone', { active_hours: { ...hours, timezone: '+03:00' } }, 'invalid-timezone'],
    ['a negative number', { mass_block: { max_contacts: -1 } }, 'invalid-policy'],
    ['the largest window', { mass_block: { window_minutes: 1440 } }, 'accepted'],
    ['one minute more', { mass_block: { window_minutes: 1441 } }, 'invalid-policy'],
    ['twenty keywords', { opt_out: { keywords: Array(20).fill('SAIR') } }, 'accepted'],
    ['twenty-one', { opt_out: { keywords: Array(21).fill('SAIR') } }, 'invalid-policy'],
    ['no keyword', { opt_out: { keywords: [] } }, 'invalid-policy'],
    ['no resume keyword', { opt_out: { resume_keywords: [] } }, 'accepted'],
    ['a week of menus', { menu_ttl_hours: 168 }, 'accepted'],
    ['more than a week', { menu_ttl_hours: 169 }, 'invalid-policy'],
    ['no new contacts', { new_contacts_per_day: 0 }, 'accepted'],
    ['6000 a minute', { messages_per_minute: 6000 }, 'accepted'],
    ['6001 a minute', { messages_per_minute: 6001 }, 'invalid-policy'],
    ['an unknown key', { messages_per_hour: 1 }, 'validation-error'],
    ['an unknown key inside', { mass_block: { max: 1 } }, 'validation-error'],
    ['a list', [], 'invalid-policy'],
  ])('%s: %#', (_name, value, expected) => {
    expect(codeOf(value)).toBe(expected);
  });

  const errorsOf = (value: unknown) => {
    try {
      parsePolicyOverrides(value);
    } catch (error) {
      return (error as Problem).extras.errors ?? [];
    }
    throw new Error('accepted');
  };
  test.each<[string, unknown, string]>([
    ['an unknown key', { messages_per_hour: 1 }, 'policy.messages_per_hour'],
    ['an unknown key inside', { mass_block: { max: 1 } }, 'policy.mass_block.max'],
    ['a bad item', { opt_out: { keywords: [''] } }, 'policy.opt_out.keywords.0'],
    ['no object', 'x', 'policy'],
  ])('reports %s with its path', (_name, value, path) => {
    expect(errorsOf(value).map((error) => error.path)).toEqual([path]);
  });

  test('reports at most 50 of 100,000 faults, and shortens long keys', () => {
    const faults = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, 1]));
    expect(errorsOf(faults)).toHaveLength(50);
    expect(errorsOf({ ['k'.repeat(100_000)]: 1 })[0]!.path).toHaveLength(200);
  });
});

test.each([
  ['America/Sao_Paulo', true],
  ['Etc/GMT+3', true],
  ['UTC', true],
  ['GMT+25', false],
  ['', false],
])('time zone %s: %s', (name, expected) => {
  expect(isTimeZone(name)).toBe(expected);
});

test('warm-up lasts 14 days from the first pairing', () => {
  const paired = new Date('2026-01-01T00:00:00Z');
  expect(isWarmingUp(null, paired)).toBe(true);
  expect(isWarmingUp(paired, new Date('2026-01-14T23:59:59Z'))).toBe(true);
  expect(isWarmingUp(paired, new Date('2026-01-15T00:00:00Z'))).toBe(false);
});
