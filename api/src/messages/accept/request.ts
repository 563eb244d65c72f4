import { fromPublicId } from '@gwk/core/ids';
import { Problem, type FieldError } from '@gwk/core/problems';
import { parseRecipient, type Recipient } from '@gwk/core/recipients';
import { checkInteractive, checkMedia } from '@gwk/core/resources/content';
import { SendMessage, type OutboundContent } from '@gwk/core/resources/message';

/** A send request of the right shape: nothing that it names has been looked up yet. */
export interface Draft {
  /** Null for an id that no instance can have. */
  instanceId: string | null;
  recipient: Recipient;
  /** As given. */
  to: string;
  type: SendMessage['type'];
  content: OutboundContent;
  replyTo: string | null;
}

/** @throws Problem `validation-error`, `invalid-message`, `invalid-phone`, `invalid-reply-to` */
export function readDraft(body: unknown): Draft {
  const parsed = SendMessage.safeParse(body);
  if (!parsed.success) throw new Problem('validation-error', { errors: fieldErrors(parsed.error.issues) });
  const { instance_id, to, type, reply_to, mentions } = parsed.data;
  checkContent(parsed.data);
  const recipient = parseRecipient(to);
  if (!recipient) throw new Problem('invalid-phone');
  checkMentions(mentions ?? []);
  const replyTo = typeof reply_to === 'string' ? fromPublicId('message', reply_to) : null;
  if (typeof reply_to === 'string' && replyTo === null) throw new Problem('invalid-reply-to');
  const content: OutboundContent = { type, [type]: parsed.data[type] };
  if (replyTo !== null) content.reply_to = replyTo;
  if (mentions && mentions.length > 0) content.mentions = mentions;
  return { instanceId: fromPublicId('instance', instance_id), recipient, to, type, content, replyTo };
}

/** What the schema of single fields cannot say. @throws Problem `invalid-message` */
function checkContent(message: SendMessage): void {
  const { type, interactive } = message;
  if (!message[type])
    throw new Problem('invalid-message', { detail: `O campo \`${type}\` é obrigatório para este tipo.` });
  const media = (message.image ?? message.video ?? message.document ?? message.audio ?? message.sticker)
    ?.media;
  if (media) checkMedia(media);
  if (interactive) checkInteractive(interactive);
}

function fieldErrors(
  issues: readonly { path: PropertyKey[]; code: string; message: string }[],
): FieldError[] {
  return issues.map(({ path, code, message }) => ({ path: path.join('.'), code, message }));
}

function checkMentions(mentions: string[]): void {
  const errors = mentions.flatMap((mention, index) =>
    parseRecipient(mention)?.kind === 'contact'
      ? []
      : [
          {
            path: `mentions.${index}`,
            code: 'custom',
            message: 'must be a phone or the network id of a contact',
          },
        ],
  );
  if (errors.length > 0) throw new Problem('validation-error', { errors });
}
