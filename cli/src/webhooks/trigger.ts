import { randomBytes } from 'node:crypto';
import type { GwkEvent } from '@gwk/client';
import type { Command } from 'commander';
import { addCommand, print, renderJson, type CommonOptions } from '../command.js';
import { CliError } from '../errors.js';
import { readDocument } from '../gateway/server-version.js';
import { chooseAccess, readProfiles } from '../profiles/profiles.js';
import { chooseSecret, describePost, parseTarget, postEvent } from './post.js';
import { buildSample, listEventSchemas } from './sample.js';

interface TriggerOptions extends CommonOptions {
  forwardTo: string;
}

export function registerTrigger(webhooks: Command): void {
  addCommand(
    webhooks,
    'trigger <type>',
    'post a sample of an event type to a program on this machine, signed',
  )
    .requiredOption('--forward-to <url>', 'address of the program, e.g. http://localhost:3000', parseTarget)
    .addHelpText(
      'after',
      '\nGWK_WEBHOOK_SECRET sets the secret (whsec_...); else each run makes one and prints it.\n',
    )
    .action(trigger);
}

async function trigger(type: string, { forwardTo, profile, json }: TriggerOptions): Promise<void> {
  const secret = chooseSecret(process.env);
  const { document } = await readDocument(chooseAccess(readProfiles(), process.env, profile));
  const schemas = listEventSchemas(document as Parameters<typeof listEventSchemas>[0]);
  const schema = schemas.get(type);
  if (!schema)
    throw new CliError(
      'usage',
      `"${type}" is no type of event. Types:\n  ${[...schemas.keys()].join('\n  ')}`,
    );
  const sample = buildSample(document as Parameters<typeof buildSample>[0], schema, new Date()) as GwkEvent;
  // Receivers skip ids that they know.
  const event = { ...sample, id: `evt_${randomBytes(16).toString('hex')}` };
  const result = await postEvent(forwardTo, secret, event);
  print(json ? renderJson({ id: event.id, type, ...result }) : describePost(event, result));
  if (result.status === null) throw new CliError('network', `${forwardTo} does not answer`);
  if (result.status >= 300) throw new CliError('refused', `${forwardTo} answered ${result.status}`);
}
