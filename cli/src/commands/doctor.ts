import type { Command } from 'commander';
import { addCommand, print, printList, renderJson, type CommonOptions } from '../command.js';
import { CliError, explainFailure, type FailureKind } from '../errors.js';
import { createClient, type Access } from '../gateway/client.js';
import { describeVersions, readDocument } from '../gateway/server-version.js';
import { checkKey } from '../profiles/commands.js';
import { chooseAccess, isExposed, readProfiles } from '../profiles/profiles.js';
import { listInstances, type Instance } from './instances.js';
import { findRemedy } from './readiness.js';

interface Finding {
  check: string;
  result: 'ok' | 'warning' | 'failed';
  detail: string;
  /** Kind of the failure, if the check failed. */
  kind?: FailureKind;
}

/** Receivers and sign-ins accept five minutes; half a minute shows that no clock is set by the network. */
const MAX_CLOCK_MS = 30_000;

export function registerDoctor(program: Command): void {
  addCommand(
    program,
    'doctor',
    'check address, TLS, clock, versions, key and instances, with the cure of each fault',
  ).action(async (options: CommonOptions) => {
    const findings = await examine(chooseAccess(readProfiles(), process.env, options.profile));
    const columns = {
      result: ({ result }: Finding) => result,
      check: ({ check }: Finding) => check,
      detail: ({ detail }: Finding) => detail,
    };
    if (options.json) print(renderJson(findings, 2));
    else printList(findings, columns, options);
    const failed = findings.find(({ result }) => result === 'failed');
    if (failed) throw new CliError(failed.kind ?? 'refused', `${failed.check}: ${failed.detail}`);
  });
}

async function examine(access: Access): Promise<Finding[]> {
  const started = Date.now();
  try {
    const { document, date } = await readDocument(access);
    const ms = Date.now() - started;
    return [
      { check: 'address', result: 'ok', detail: `${access.url} answers in ${ms} ms` },
      judgeTransport(access.url),
      judgeClock(date, started + ms / 2),
      judgeVersion(document.info.version),
      ...(await examineKey(access)),
    ];
  } catch (error) {
    return [describeFault('address', error)];
  }
}

async function examineKey(access: Access): Promise<Finding[]> {
  if (access.key === null)
    return [{ check: 'key', result: 'failed', kind: 'auth', detail: 'There is no key. Run gwk login' }];
  try {
    await checkKey(access);
  } catch (error) {
    return [describeFault('key', error)];
  }
  const key: Finding = { check: 'key', result: 'ok', detail: 'the gateway accepts it' };
  try {
    return [key, ...(await listInstances(createClient(access))).map(judgeInstance)];
  } catch (error) {
    return [key, { ...describeFault('instances', error), result: 'warning' }];
  }
}

function describeFault(check: string, error: unknown): Finding {
  const failure = explainFailure(error);
  if (!failure) throw error;
  return { check, result: 'failed', kind: failure.kind, detail: failure.message };
}

export function judgeTransport(url: string): Finding {
  if (!isExposed(url))
    return {
      check: 'tls',
      result: 'ok',
      detail: url.startsWith('https') ? 'encrypted' : 'not needed on this machine',
    };
  return {
    check: 'tls',
    result: 'warning',
    detail: 'Not encrypted: others on the way can read the key. Use https',
  };
}

export function judgeClock(date: string | null, now: number): Finding {
  const theirs = Date.parse(date ?? '');
  if (Number.isNaN(theirs)) return { check: 'clock', result: 'warning', detail: 'The gateway names no time' };
  const seconds = Math.round((now - theirs) / 1000);
  if (Math.abs(now - theirs) <= MAX_CLOCK_MS)
    return { check: 'clock', result: 'ok', detail: `differs by ${seconds} s` };
  return {
    check: 'clock',
    result: 'warning',
    detail: `This clock differs by ${seconds} s. Signatures of webhooks fail at 300 s. Set both by NTP`,
  };
}

function judgeVersion(server: string): Finding {
  const remark = describeVersions(server);
  return {
    check: 'version',
    result: remark === null ? 'ok' : 'warning',
    detail: remark ?? `gateway ${server}`,
  };
}

function judgeInstance(instance: Instance): Finding {
  const remedy = findRemedy(instance);
  const check = `instance ${instance.name}`;
  return {
    check,
    result: remedy === null ? 'ok' : 'warning',
    detail: remedy === null ? instance.state : `${instance.state}. ${remedy}`,
  };
}
