import { useQuery, useQueryClient, type QueryKey } from '@tanstack/react-query';
import { newUuid, type Gwk } from '@gwk/client';
import { useAccount } from '../app/account';
import { isEmpty, newDraft, planPart, type Draft } from './draft';
import type { Conversation } from './obstacles';

export interface Compose {
  draft: Draft;
  /** A draft that is being sent, or that could not be sent (`error`). */
  leaving: Draft | null;
  error: Error | null;
}

/** Contents of messages that this page has sent: the gateway does not keep them. */
export const sentKey = (account: string): QueryKey => [account, 'sent contents'];

/** The draft of a conversation. It survives other conversations, and ends with the session. */
export function useCompose(conversation: Conversation) {
  const { id: account, gwk } = useAccount();
  const queries = useQueryClient();
  const queryKey = [account, 'compose', conversation.id];
  const compose = useQuery({
    queryKey,
    queryFn: (): Compose => compose,
    initialData: (): Compose => ({ draft: newDraft(), leaving: null, error: null }),
    enabled: false,
    gcTime: Infinity,
  }).data;
  const find = (): Compose => queries.getQueryData<Compose>(queryKey) ?? compose;
  const set = (change: Partial<Compose>) => queries.setQueryData(queryKey, { ...find(), ...change });

  async function sendAll(): Promise<void> {
    set({ error: null });
    try {
      for (let left = find().leaving; left !== null; left = find().leaving) {
        const { id, content, rest } = await sendNext(gwk, conversation, left);
        queries.setQueryData(sentKey(account), (known: object = {}) => ({ ...known, [id]: content }));
        set({ leaving: isEmpty(rest) ? null : rest });
      }
    } catch (error) {
      set({ error: error as Error });
    } finally {
      for (const list of ['thread', 'conversations'])
        void queries.invalidateQueries({ queryKey: [account, list] });
    }
  }

  return {
    ...compose,
    change: (change: Partial<Omit<Draft, 'key'>>): void => {
      set({ draft: { ...find().draft, ...change, key: newUuid() } });
    },
    /** Sends the draft. Does nothing while another one is leaving: a second press finds none. */
    submit: () => {
      const { draft, leaving } = find();
      if (leaving !== null || isEmpty(draft)) return;
      set({ draft: newDraft(), leaving: draft });
      void sendAll();
    },
    retry: () => {
      if (find().error !== null) void sendAll();
    },
    /** Puts a draft that could not be sent back into the box. */
    putBack: () => {
      const { draft, leaving } = find();
      if (leaving === null) return;
      const text = [leaving.text, draft.text].filter((part) => part !== '').join('\n');
      const files = [...leaving.files, ...draft.files];
      const replyTo = draft.replyTo ?? leaving.replyTo;
      // Its answer may be lost: unchanged, it keeps its key and is sent once.
      const key = isEmpty(draft) ? leaving.key : newUuid();
      set({ draft: { text, files, replyTo, key }, leaving: null, error: null });
    },
  };
}

async function sendNext(gwk: Gwk, { instance_id, contact, group }: Conversation, draft: Draft) {
  const [first] = draft.files;
  const uploaded = first ? await gwk.media.upload({ file: first.file }, { idempotencyKey: first.key }) : null;
  const { part, content, rest } = planPart(draft, uploaded);
  const { messageId: reply, waId } = draft.replyTo ?? {};
  const body = { instance_id, to: (contact ?? group)!.id, ...part, ...(reply && { reply_to: reply }) };
  const { id } = await gwk.messages.send(body, { idempotencyKey: draft.key });
  return { id, content: { ...content, ...(waId && { quoted_wa_message_id: waId }) }, rest };
}
