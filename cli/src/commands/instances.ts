import type { Gwk, Schemas } from '@gwk/client';
import { Option, type Command } from 'commander';
import {
  addCommand,
  openGateway,
  parseCount,
  print,
  printItem,
  printList,
  renderJson,
  type CommonOptions,
} from '../command.js';
import { CliError } from '../errors.js';
import { take, type Access } from '../gateway/client.js';
import { chooseAccess, readProfiles } from '../profiles/profiles.js';

export type Instance = Schemas['InstanceOut'];
type Named = Pick<Instance, 'id' | 'name'>;

/** An instance by its id or its name. @throws CliError */
export async function findInstance(gateway: Gwk, given: string): Promise<Instance> {
  if (given.startsWith('ins_')) return gateway.instances.get(given);
  return chooseInstance(await listInstances(gateway), given);
}

/** @throws CliError */
export function chooseInstance<T extends Named>(instances: readonly T[], name: string): T {
  const [found, ...others] = instances.filter((instance) => instance.name === name);
  if (found === undefined)
    throw new CliError('not-found', `No instance is named "${name}". List them with: gwk instances`);
  if (others.length === 0) return found;
  const ids = [found, ...others].map(({ id }) => id).join(', ');
  throw new CliError('usage', `Several instances are named "${name}". Use an id: ${ids}`);
}

export const listInstances = (gateway: Gwk, limit = 10_000): Promise<Instance[]> =>
  take(gateway.instances.list({ limit: Math.min(limit, 100) }), limit);

const COLUMNS = {
  id: ({ id }: Instance) => id,
  name: ({ name }: Instance) => name,
  kind: ({ kind }: Instance) => kind,
  state: ({ state }: Instance) => state,
  number: ({ jid }: Instance) => jid?.replace(/[@:].*/, ''),
};

export function registerInstances(program: Command): void {
  const instances = program.command('instances').description('instances, one for each phone number');
  addCommand(instances, 'list', 'list the instances')
    .option('--limit <number>', 'maximum number of instances', parseCount, 100)
    .action(async (options: CommonOptions & { limit: number }) => {
      printList(await listInstances(openGateway(options), options.limit), COLUMNS, options);
    });
  addCommand(instances, 'get <instance>', 'show an instance, by its id or name').action(
    async (given: string, options: CommonOptions) =>
      printItem(await findInstance(openGateway(options), given), options),
  );
  addCommand(instances, 'create <name>', 'create an instance; gwk pair links a phone with it')
    .addOption(
      new Option('--kind <kind>', 'a phone number, or a simulated one')
        .choices(['web', 'sandbox'])
        .default('web'),
    )
    .action(async (name: string, options: CommonOptions & { kind: 'web' | 'sandbox' }) => {
      printItem(await openGateway(options).instances.create({ name, kind: options.kind }), options);
    });
  registerActions(instances);
}

/** @throws CliError without `--yes` */
export function confirm(what: string, { url }: Access, yes: true | undefined): void {
  if (!yes) throw new CliError('usage', `This ${what} at ${url}. Confirm with --yes`);
}

const openAccess = ({ profile }: CommonOptions): Access => chooseAccess(readProfiles(), process.env, profile);

type Confirmed = CommonOptions & { yes?: true };

function registerActions(instances: Command): void {
  addCommand(instances, 'restart <instance>', 'restart the engine of an instance').action(
    async (given: string, options: CommonOptions) => {
      const gateway = openGateway(options);
      const { id, name } = await findInstance(gateway, given);
      await gateway.instances.restart(id);
      report(options, { id, restart: true }, `restart of ${name} (${id}) is under way`);
    },
  );
  addCommand(instances, 'logout <instance>', 'unlink the phone of an instance')
    .option('--yes', 'confirm')
    .action(async (given: string, options: Confirmed) => {
      const gateway = openGateway(options);
      const { id, name } = await findInstance(gateway, given);
      confirm(`unlinks the phone of ${name} (${id})`, openAccess(options), options.yes);
      await gateway.instances.logout(id);
      report(options, { id, logout: true }, `logout of ${name} (${id}) is under way`);
    });
  addCommand(instances, 'delete <instance>', 'unlink the phone, and delete the instance')
    .option('--yes', 'confirm')
    .action(async (given: string, options: Confirmed) => {
      const gateway = openGateway(options);
      const { id, name } = await findInstance(gateway, given);
      confirm(`unlinks the phone of ${name} (${id}) and deletes it`, openAccess(options), options.yes);
      await gateway.instances.delete(id);
      report(options, { id, deleted: true }, `Deleted ${name} (${id})`);
    });
}

const report = ({ json }: CommonOptions, result: object, text: string): void =>
  print(json ? renderJson(result) : text);
