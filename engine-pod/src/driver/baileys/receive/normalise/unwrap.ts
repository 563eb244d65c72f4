import type { proto } from '@whiskeysockets/baileys';

/** The content of a message, and facts from its wrappers. */
export interface Content {
  message: proto.IMessage;
  /** Facts beside the content, from all levels. */
  context: proto.IMessageContextInfo;
  isViewOnce: boolean;
  /** Kind of the content that a wrapper names. */
  kind?: string;
}

/** Enough for a view-once picture in a disappearing message of another device, and for wrappers yet to come. */
const MAX_DEPTH = 10;

/** Wrappers that make something else of the content. */
const KINDS: { readonly [wrapper in keyof proto.IMessage]: string } = {
  botTaskMessage: 'bot_task',
  eventCoverImage: 'event_cover',
  groupStatusMentionMessage: 'status_mention',
  groupStatusMessage: 'group_status',
  groupStatusMessageV2: 'group_status',
  limitSharingMessage: 'limit_sharing',
  pollCreationOptionImageMessage: 'poll_option_image',
  questionMessage: 'question',
  questionReplyMessage: 'question_reply',
  statusAddYours: 'status_add_yours',
  statusMentionMessage: 'status_mention',
};

/** Opens all wrappers, in any order. They are recognised by their form, so new ones need no change. */
export function unwrapMessage(whole: proto.IMessage): Content {
  const levels = [whole];
  const wrappers: string[] = [];
  while (levels.length <= MAX_DEPTH) {
    const found = findWrapper(levels.at(-1)!);
    if (!found) break;
    wrappers.push(found.field);
    levels.push(found.message);
  }
  const message = levels.at(-1)!;
  const contexts = levels.map(({ messageContextInfo }) => messageContextInfo ?? {});
  const [kind] = wrappers.flatMap((name) => KINDS[name as keyof proto.IMessage] ?? []);
  return {
    message,
    // The outer levels count first.
    context: Object.assign({}, ...contexts.reverse()) as proto.IMessageContextInfo,
    isViewOnce: wrappers.some((name) => name.startsWith('viewOnce')) || isMarkedViewOnce(message),
    ...(kind !== undefined && { kind }),
  };
}

function findWrapper(message: proto.IMessage): { field: string; message: proto.IMessage } | null {
  for (const [field, content] of Object.entries(message)) {
    if (isWrapper(field, content)) return { field, message: content.message };
    if (content && field in KINDS) return { field, message: {} };
  }
  return null;
}

/** A comment contains a message too, but belongs to another one. */
export function isWrapper(field: string, content: unknown): content is { message: proto.IMessage } {
  const message = (content as { message?: unknown } | null)?.message;
  return typeof message === 'object' && message !== null && field !== 'commentMessage';
}

function isMarkedViewOnce(message: proto.IMessage): boolean {
  return Object.values(message).some((content: { viewOnce?: boolean } | null) => content?.viewOnce === true);
}
