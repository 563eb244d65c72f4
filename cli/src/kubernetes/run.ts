import { createPairCluster, findCluster } from '@gwk/core/kubernetes/pair-cluster';
import type { PairOptions } from '@gwk/core/pairing/options';
import { pairInTerminal } from '@gwk/core/pairing/terminal';
import { cleanText } from '@gwk/core/process/clean-text';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import type { V1Pod } from '@kubernetes/client-node';
import { writeFileSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { note, print, renderJson } from '../command.js';
import { CliError, type FailureKind } from '../errors.js';
import { VERSION } from '../version.js';
import { Cluster, readGateway, readPicture, readPictures, type Target } from './cluster.js';
import { findCondition } from './explain.js';
import { translateFailure } from './failures.js';
import { findObstacle } from './restart.js';
import { collectReport } from './report/collect.js';
import type { Included } from './report/redact.js';
import { compareVersions, listWarnings, renderPictures, renderStatus, sortPictures, toJson } from './view.js';

export interface Where {
  namespace?: string;
  context?: string;
  kubeconfig?: string;
}
export type StatusOptions = Where & { allNamespaces?: true; output: 'text' | 'json' };
export type LogOptions = Where & { follow?: true; tail?: number };
export type RestartOptions = Where & { force?: true };
export type ReportOptions = Where & { allNamespaces?: true; file?: string; include?: Included[] };

const POLL_MS = 1000;
/** An engine may take 30 s to stop, and its successor waits for an image and for the network. */
const RESTART_MS = 120_000;

export async function printStatus(name: string | undefined, options: StatusOptions): Promise<void> {
  await withCluster(options, async (cluster, namespace) => {
    const isJson = options.output === 'json';
    if (name !== undefined) {
      const picture = await readPicture(cluster, await findInstance(cluster, { namespace, name }));
      return print(isJson ? renderJson(toJson(picture), 2) : renderStatus(picture, VERSION));
    }
    const pictures = await readPictures(cluster, options.allNamespaces ? null : namespace);
    if (isJson)
      return print(
        renderJson(
          sortPictures(pictures).map(({ picture }) => toJson(picture)),
          2,
        ),
      );
    const [first] = pictures;
    if (!first)
      return print(options.allNamespaces ? 'No Instances.' : `No Instances in ${namespace}; -A shows all.`);
    print([renderPictures(pictures), ...listWarnings(first, VERSION)].join('\n'));
  });
}

export async function runPair(name: string, options: PairOptions & Where): Promise<void> {
  await withCluster(options, async (cluster, namespace) => {
    await warn(cluster, namespace);
    await findInstance(cluster, { namespace, name });
    await pairInTerminal(createPairCluster(cluster.client, namespace, name), options);
  });
}

export async function setPaused(name: string, paused: boolean, where: Where): Promise<void> {
  await withCluster(where, async (cluster, namespace) => {
    await warn(cluster, namespace);
    const { spec } = await findInstance(cluster, { namespace, name });
    const word = paused ? 'paused' : 'running';
    if (spec.suspended === paused) return print(`${namespace}/${name} is already set to be ${word}`);
    await cluster.setSuspended({ namespace, name }, paused);
    const then = paused
      ? `kubectl gwk resume ${name} -n ${namespace}`
      : `kubectl gwk status ${name} -n ${namespace}`;
    print(`${namespace}/${name} is set to be ${word}. Next: ${then}`);
  });
}

/** Deletes the pod. The operator creates the next one, and takes no deleted pod for a crash. */
export async function restart(name: string, options: RestartOptions): Promise<void> {
  await withCluster(options, async (cluster, namespace) => {
    await warn(cluster, namespace);
    const target = { namespace, name };
    const instance = await findInstance(cluster, target);
    const former = await cluster.pod(target);
    if (!former) return giveUp(cluster, instance, 'refused', 'it has no engine to restart');
    const obstacle = findObstacle(instance, former, options.force === true);
    if (obstacle !== null) throw new CliError('refused', obstacle);
    await cluster.deletePod(former);
    print(`${former.metadata!.name} is stopping; waiting until the next engine works ...`);
    const next = await waitForEngine(cluster, target, former.metadata!.uid!);
    if (next) return print(`${namespace}/${name} is restarted: ${findCondition(next, 'Ready')?.reason}`);
    return giveUp(
      cluster,
      await findInstance(cluster, target),
      'timeout',
      `no engine worked within ${RESTART_MS / 1000} s`,
    );
  });
}

/** Null: timeout. */
async function waitForEngine(
  cluster: Cluster,
  target: Target,
  former: string,
): Promise<InstanceResource | null> {
  for (const until = Date.now() + RESTART_MS; Date.now() < until; await sleep(POLL_MS)) {
    const [pod, instance] = await Promise.all([cluster.pod(target), cluster.instance(target)]);
    if (!pod || pod.metadata!.uid === former || pod.status?.phase !== 'Running' || !instance) continue;
    if (isServed(instance, Number(pod.metadata!.creationTimestamp))) return instance;
  }
  return null;
}

/** Whether the engine works that was created at `since`. The number may be unpaired. */
function isServed(instance: InstanceResource, since: number): boolean {
  const running = findCondition(instance, 'EngineRunning');
  if (running?.status !== 'True' || Date.parse(running.lastTransitionTime) < since) return false;
  return findCondition(instance, 'Connected')?.reason !== 'Connecting';
}

export async function printLogs(name: string, options: LogOptions): Promise<void> {
  await withCluster(options, async (cluster, namespace) => {
    const target = { namespace, name };
    const instance = await findInstance(cluster, target);
    let last: string | undefined;
    do {
      const pod = await cluster.pod(target);
      if (pod && hasLog(pod) && pod.metadata!.uid !== last) {
        // A later engine is shown from its first line.
        await printLog(cluster, pod, last === undefined ? options : { follow: true });
        last = pod.metadata!.uid;
      }
    } while (options.follow && (await sleep(POLL_MS, true)));
    if (last === undefined)
      await giveUp(cluster, instance, 'refused', 'it has no engine with a log; -f waits for one');
  });
}

const hasLog = ({ status }: V1Pod): boolean =>
  status?.containerStatuses?.some(({ state }) => state?.running ?? state?.terminated) ?? false;

async function printLog(cluster: Cluster, pod: V1Pod, { follow, tail }: LogOptions): Promise<void> {
  const query: Record<string, string> = { follow: String(follow ?? false) };
  if (tail !== undefined) query['tailLines'] = String(tail);
  const log = await cluster.log(pod, query);
  if (!process.stdout.isTTY) return pipeline(log, process.stdout, { end: false });
  log.setEncoding('utf8');
  await pipeline(log, cleanChunks, process.stdout, { end: false });
}

async function* cleanChunks(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const chunk of chunks) yield cleanText(chunk);
}

export async function writeReport(name: string | undefined, options: ReportOptions): Promise<void> {
  await withCluster(options, async (cluster, namespace) => {
    const now = new Date();
    const place = options.allNamespaces ? null : namespace;
    const instances =
      name === undefined
        ? await cluster.instances(place)
        : [await findInstance(cluster, { namespace, name })];
    const found = { cluster, instances, namespace, version: VERSION, now };
    const { zip, files, missing } = await collectReport(found, options.include ?? []);
    const path = options.file ?? `gwk-report-${now.toISOString().slice(0, 19).replaceAll(':', '')}.zip`;
    writeReportFile(path, zip);
    print(`${path}: ${files} files, ${Math.ceil(zip.length / 1024)} kB`);
    for (const one of missing) print(`not in it: ${one}`);
    print('Look through it before you send it.');
  });
}

/** Mode 0600: a report shows the names of Instances and versions. @throws CliError if the file exists */
export function writeReportFile(path: string, zip: Uint8Array): void {
  try {
    writeFileSync(path, zip, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    throw new CliError('usage', `${path} cannot be written: ${(error as Error).message}`, { cause: error });
  }
}

async function withCluster(
  where: Where,
  work: (cluster: Cluster, namespace: string) => Promise<void>,
): Promise<void> {
  try {
    const client = findCluster(where.kubeconfig, where.context);
    try {
      await work(new Cluster(client), where.namespace ?? client.namespace);
    } finally {
      await client.close();
    }
  } catch (error) {
    throw translateFailure(error);
  }
}

async function findInstance(cluster: Cluster, target: Target): Promise<InstanceResource> {
  const found = await cluster.instance(target);
  if (found) return found;
  throw new CliError(
    'not-found',
    `no Instance ${target.name} in namespace ${target.namespace}; list all: kubectl gwk status -A`,
  );
}

/** Prints the status, which says why. */
async function giveUp(
  cluster: Cluster,
  instance: InstanceResource,
  kind: FailureKind,
  message: string,
): Promise<never> {
  print(renderStatus(await readPicture(cluster, instance), VERSION));
  throw new CliError(kind, message);
}

/** Before a change: where it happens. */
async function warn(cluster: Cluster, namespace: string): Promise<void> {
  note(`Context: ${cluster.client.getCurrentContext()}`);
  const warning = compareVersions(await readGateway(cluster, namespace), VERSION);
  if (warning !== null) note(`Warning: ${warning}`);
}
