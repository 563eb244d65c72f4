import { randomInt } from 'node:crypto';
import { loadCommandConfig } from '@gwk/core/config/load';
import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { email as emailSchema, LANGUAGES, personName } from '../resources/console/session.js';
import { isRole, ROLES } from '../roles.js';
import { Option, type Command } from 'commander';
import type { z } from 'zod';
import type { Prisma, User } from '../generated/prisma/client.js';
import { audit, CommandError, findAccount, parseInteger, printChange, printResult } from './run.js';

/** `gwk user ...`: people who sign in to the console. */
interface Creation {
  name?: string;
  account?: string;
  role?: string;
  platformAdmin?: boolean;
  language?: string;
  existing?: boolean;
}

const NOTE =
  '\nDATABASE_URL names the database. Prints JSON. Replicas apply a change within 2 s. See docs/console.md.\n';
const DEFAULT_HANDOFF_SECONDS = '60';
/** After `gwk user reset` the person may set up the first second factor of an account that requires one. */
const FACTOR_SET_UP_MS = 86_400_000;
const MAX_HANDOFF_SECONDS = 3_600;

export function registerUsers(program: Command): void {
  const user = program
    .command('user')
    .description('people who sign in to the console')
    .addHelpText('after', NOTE);

  user
    .command('create <email>')
    .description(
      'create a user without a password, or (--existing) give a known one an account or all of them',
    )
    .option('--name <name>', 'name of the person (default: the e-mail)')
    .option('--account <name>', 'account to make the user a member of')
    .addOption(
      new Option('--role <role>', 'role in that account (default: owner; none with --existing)').choices([
        ...ROLES,
      ]),
    )
    .option('--platform-admin', 'give the user all accounts')
    .addOption(new Option('--language <language>', 'language of the console').choices([...LANGUAGES]))
    .option('--existing', 'the e-mail belongs to a known user, whom you trust to own it')
    .action((email: string, creation: Creation) =>
      printChange('user create', (tx) => createUser(tx, parse(emailSchema(), email), creation)),
    );

  user
    .command('list')
    .description('list all users with their roles')
    .action(() =>
      printResult('user list', async (db) =>
        (await db.user.findMany({ ...WITH_ROLES, orderBy: { email: 'asc' } })).map(shown),
      ),
    );

  registerRights(user);

  user
    .command('reset <email>')
    .description(
      'set a new password, which is printed once; removes second factor and passkeys, and ends all sessions and a lock',
    )
    .action((email: string) => printChange('user reset', (tx) => resetUser(tx, email)));

  user
    .command('handoff <email>')
    .description('print a link that signs the user in once')
    .option('--seconds <number>', 'how long the link is valid', DEFAULT_HANDOFF_SECONDS)
    .action((email: string, { seconds }: { seconds: string }) =>
      printChange('user handoff', (tx) => printHandoff(tx, email, seconds)),
    );

  user
    .command('delete <email>')
    .description('delete a user; ends all sessions, and the invitations that the user could have made')
    .action((email: string) => printChange('user delete', (tx) => deleteUser(tx, email)));
}

function registerRights(user: Command): void {
  user
    .command('role <email> <account> <role>')
    .description(`give a user a role for all instances of an account: ${ROLES.join(', ')}; or none`)
    .action((email: string, account: string, role: string) =>
      printChange('user role', async (tx) => setRole(tx, await findUser(tx, email), { account, role })),
    );

  user
    .command('admin <email>')
    .description(
      'give a user all accounts (--on), or only its own (--off), which ends its invitations to the others',
    )
    .addOption(new Option('--on', 'make the user an administrator of the platform').conflicts('off'))
    .option('--off', 'leave the user only the accounts of which it is a member')
    .action((email: string, { on, off }: { on?: boolean; off?: boolean }) =>
      printChange('user admin', (tx) => setAdmin(tx, email, { on, off })),
    );
}

type UserWithRoles = Prisma.UserGetPayload<typeof WITH_ROLES>;
const WITH_ROLES = {
  include: { members: { include: { account: { select: { name: true } }, instances: true } } },
} satisfies Prisma.UserDefaultArgs;

const shown = (row: UserWithRoles) => ({
  id: toPublicId('user', row.id),
  email: row.email,
  name: row.name,
  is_platform_admin: row.isPlatformAdmin,
  has_password: row.passwordHash !== null,
  has_totp: row.totpConfirmedAt !== null,
  accounts: row.members.map(({ account, role, restricted, instances }) => ({
    account: account.name,
    role,
    instance_ids: restricted ? instances.map(({ instanceId }) => toPublicId('instance', instanceId)) : null,
  })),
  created_at: row.createdAt.toISOString(),
});

function parse<S extends z.ZodType>(schema: S, value: string): z.output<S> {
  const { success, data, error } = schema.safeParse(value);
  if (!success) throw new CommandError(`"${value}": ${error.issues[0]!.message}`);
  return data;
}

async function findUser(tx: Prisma.TransactionClient, email: string): Promise<User> {
  const user = await tx.user.findUnique({ where: { email: email.toLowerCase() } });
  if (!user) throw new CommandError(`user "${email}" not found (gwk user list)`);
  return user;
}

async function createUser(tx: Prisma.TransactionClient, email: string, creation: Creation) {
  const { name = email, account, platformAdmin, language, existing = false } = creation;
  const known = await tx.user.findUnique({ where: { email } });
  if (known) await checkExisting(tx, known, creation);
  else if (existing) throw new CommandError(`user "${email}" not found (gwk user list)`);
  const given = {
    ...(platformAdmin && { isPlatformAdmin: true }),
    ...(language !== undefined && { language }),
  };
  const row = known
    ? await tx.user.update({ where: { email }, data: given })
    : await tx.user.create({ data: { id: newUuid(), email, name: parse(personName(), name), ...given } });
  const detail = { email, ...(platformAdmin && { platform_admin: true }) };
  await audit(tx, { accountId: null, action: 'user.create', subject: row.id, detail });
  if (account !== undefined) await setRole(tx, row, { account, role: creation.role ?? 'owner' });
  return { ...(await readShown(tx, row.id)), ...(platformAdmin && (await adviseFactor(tx, row))) };
}

/**
 * E-mails are not verified: an administrator of any account can create a person by an invitation, and accept it. So rights
 * for a known person need `--existing`, and a role that is spelled out.
 */
async function checkExisting(
  tx: Prisma.TransactionClient,
  { id, email, createdAt }: User,
  { account, role, platformAdmin, existing }: Creation,
): Promise<void> {
  if (!existing) {
    const [made] = await tx.auditEntry.findMany({
      where: { subject: id, action: 'user.create' },
      orderBy: { id: 'asc' },
      take: 1,
    });
    const inviter = made?.accountId && (await tx.account.findUnique({ where: { id: made.accountId } }));
    const other = made?.accountId === null ? 'gwk user create' : 'an unknown account';
    const origin = inviter ? `an invitation of the account "${inviter.name}"` : other;
    throw new CommandError(
      `user "${email}" already exists, made ${createdAt.toISOString()} by ${origin}; gwk has not verified the e-mail. ` +
        'If you trust the user, repeat the command with --existing',
    );
  }
  if (account === undefined && platformAdmin === undefined)
    throw new CommandError('--existing needs --account or --platform-admin');
  if (account !== undefined && role === undefined)
    throw new CommandError('--existing needs --role for an account');
}

const readShown = async (tx: Prisma.TransactionClient, id: string) =>
  shown(await tx.user.findUniqueOrThrow({ where: { id }, ...WITH_ROLES }));

async function setRole(
  tx: Prisma.TransactionClient,
  { id: userId, email }: User,
  { account: name, role }: { account: string; role: string },
) {
  const { id: accountId } = await findAccount(tx, name);
  const { endInvitations } = await import('../people/members.js');
  const before = await tx.member.findUnique({ where: { accountId_userId: { accountId, userId } } });
  if (before) await endInvitations(tx, before, role === 'none' ? null : { role, restricted: false });
  if (role === 'none') await tx.member.deleteMany({ where: { accountId, userId } });
  else if (!isRole(role))
    throw new CommandError(`unknown role "${role}" (valid roles: ${ROLES.join(', ')}, none)`);
  else {
    const place = { accountId, userId };
    await tx.memberInstance.deleteMany({ where: place });
    await tx.member.upsert({
      where: { accountId_userId: place },
      create: { ...place, role },
      update: { role, restricted: false },
    });
  }
  await audit(tx, { accountId, action: 'member.role', subject: userId, detail: { email, role } });
  return readShown(tx, userId);
}

async function setAdmin(
  tx: Prisma.TransactionClient,
  email: string,
  { on = false, off = false }: { on?: boolean | undefined; off?: boolean | undefined },
) {
  if (on === off) throw new CommandError('give --on or --off');
  const user = await findUser(tx, email);
  const { id } = user;
  await tx.user.update({ where: { id }, data: { isPlatformAdmin: on } });
  const { endSentInvitations } = await import('../people/members.js');
  if (off) await endSentInvitations(tx, id);
  await audit(tx, { accountId: null, action: 'user.admin', subject: id, detail: { platform_admin: on } });
  return { ...(await readShown(tx, id)), ...(on && (await adviseFactor(tx, user))) };
}

/** An administrator without a factor that the gateway requires reaches only the profile, and a password sets up none. */
async function adviseFactor(tx: Prisma.TransactionClient, user: User): Promise<{ hint?: string }> {
  const { apiSettings } = await import('../config/api.js');
  const { adminMfa } = loadCommandConfig({ adminMfa: apiSettings.adminMfa }, process.env);
  const { listFactors } = await import('../people/sign-in/sessions.js');
  if (!adminMfa || (await listFactors(tx, user)).length > 0) return {};
  return {
    hint: `the gateway requires a second factor; set it up after a sign-in by: gwk user handoff ${user.email} --seconds 600`,
  };
}

/** Easy to type: no letters that look like others. */
const LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789';
const GROUPS = 5;
const GROUP_LENGTH = 5;

/** 25 letters of 31: 123 random bits. */
function makePassword(): string {
  const group = () => Array.from({ length: GROUP_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('');
  return Array.from({ length: GROUPS }, group).join('-');
}

async function resetUser(tx: Prisma.TransactionClient, email: string) {
  const { id } = await findUser(tx, email);
  const { Passwords } = await import('../people/passwords.js');
  const password = makePassword();
  const passwordHash = await new Passwords().hash(password);
  await tx.user.update({
    where: { id },
    data: {
      passwordHash,
      totpSealed: null,
      totpConfirmedAt: null,
      factorSetUpUntil: new Date(Date.now() + FACTOR_SET_UP_MS),
    },
  });
  await tx.backupCode.deleteMany({ where: { userId: id } });
  await tx.passkey.deleteMany({ where: { userId: id } });
  await tx.userSession.deleteMany({ where: { userId: id } });
  await tx.handoff.deleteMany({ where: { userId: id } });
  await tx.knownDevice.deleteMany({ where: { userId: id } });
  const { codeSubject, forgetFailures } = await import('../people/sign-in/attempts.js');
  await forgetFailures(tx, [email.toLowerCase(), codeSubject(id)]);
  await audit(tx, { accountId: null, action: 'user.reset', subject: id });
  return { id: toPublicId('user', id), email: email.toLowerCase(), password };
}

async function printHandoff(tx: Prisma.TransactionClient, email: string, seconds: string) {
  const { id } = await findUser(tx, email);
  const { apiSettings } = await import('../config/api.js');
  const { baseUrl, consoleUrl = baseUrl } = loadCommandConfig(
    { baseUrl: apiSettings.baseUrl, consoleUrl: apiSettings.consoleUrl },
    process.env,
  );
  const { createHandoff } = await import('../people/sign-in/handoffs.js');
  const validFor = parseInteger(1, MAX_HANDOFF_SECONDS)(seconds);
  await audit(tx, { accountId: null, action: 'user.handoff', subject: id, detail: { seconds: validFor } });
  return createHandoff(tx, id, { baseUrl: consoleUrl, seconds: validFor });
}

async function deleteUser(tx: Prisma.TransactionClient, email: string) {
  const { id } = await findUser(tx, email);
  const { endInvitations, endSentInvitations } = await import('../people/members.js');
  for (const member of await tx.member.findMany({ where: { userId: id } }))
    await endInvitations(tx, member, null);
  await tx.user.delete({ where: { id } });
  await endSentInvitations(tx, id);
  await audit(tx, {
    accountId: null,
    action: 'user.delete',
    subject: id,
    detail: { email: email.toLowerCase() },
  });
  return { id: toPublicId('user', id), deleted: true };
}
