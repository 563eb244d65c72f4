import { ApiError } from '@gwk/client';
import { keepPreviousData, skipToken, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useRef } from 'react';
import { takeData } from '../api/client';
import { useAccount } from '../app/account';
import type { Message } from '../messages/status-badge';
import { useInstance } from '../numbers/queries';
import { useGrowing } from '../ui/growing';
import { sentKey } from './compose';
import { findObstacle, type Conversation, type Obstacle } from './obstacles';
import { isMessage, readNotices, readThread, type Stored, type ThreadCursor } from './read-thread';
import { buildRows, findLastReceived, type Content, type Row } from './rows';

/** The rows of a conversation, which grow at both ends. */
export function useThread(conversation: Conversation, refetchInterval: number) {
  const { id, gwk } = useAccount();
  const queryKey = [id, 'thread', conversation.id];
  const growing = useGrowing<Stored, ThreadCursor>({
    queryKey,
    isAnchor: isMessage,
    read: (cursor, loaded) => readThread(gwk, conversation.id, cursor, loaded),
    refetchInterval,
  });
  const { data } = growing.query;
  // Before this time, messages are not loaded.
  const from = data?.cursor?.messages
    ? data.rows.filter(isMessage).reduce((first, { created_at: at }) => (at < first ? at : first), '9')
    : null;
  const notices = useQuery({
    queryKey: [...queryKey, 'notices', from],
    queryFn: data ? () => readNotices(gwk, conversation, from) : skipToken,
    placeholderData: keepPreviousData,
    refetchInterval,
  }).data;
  const { data: sent } = useQuery<Record<string, Content>>({
    queryKey: sentKey(id),
    queryFn: skipToken,
    gcTime: Infinity,
  });
  const rows = useMemo(() => {
    if (!data) return undefined;
    const messages = data.rows.filter(isMessage);
    const events = data.rows.filter((item) => !isMessage(item));
    return buildRows({ messages, events: [...events, ...(notices ?? [])], sent: sent ?? {}, from });
  }, [data, notices, sent, from]);
  const received = data?.rows.filter(isMessage).filter(({ direction }) => direction === 'inbound') ?? [];
  return { ...growing, rows, received };
}

/** As many as one read mark takes and as a person reads at once. */
const MAX_MARKS = 50;

/** Marks what the contact has written as read, once the reader sees it. */
export function useReadMarks(conversation: Conversation, received: readonly Message[]): void {
  const { id, gwk, can } = useAccount();
  const queries = useQueryClient();
  const { instance_id, contact, group, unread_count: unread } = conversation;
  const state = useInstance(instance_id).data?.state;
  const chat = (contact ?? group)?.id;
  const ids = received
    .toSorted((a, b) => (a.created_at < b.created_at ? -1 : 1))
    .flatMap(({ wa_message_id: waId }) => waId ?? [])
    .slice(-Math.min(unread, MAX_MARKS));
  const isWanted = unread > 0 && ids.length > 0 && state === 'connected' && can('messages:send');
  const newest = ids.at(-1);
  // A refused mark is not repeated before there is another message.
  const marked = useRef<string>(undefined);
  useEffect(() => {
    const mark = async () => {
      if (!isWanted || chat === undefined || document.visibilityState !== 'visible') return;
      if (marked.current === newest) return;
      marked.current = newest;
      await gwk.instances
        .markRead(instance_id, chat, { wa_message_ids: ids })
        .then(() => queries.invalidateQueries({ queryKey: [id, 'conversations'] }))
        .catch(() => undefined);
    };
    void mark();
    const look = () => void mark();
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  });
}

const RARELY_MS = 60_000;

/** Why nothing can be sent to the conversation now; null: nothing is known that prevents it. */
export function useObstacle(conversation: Conversation, rows: readonly Row[] | undefined): Obstacle | null {
  const { id, api, gwk, can } = useAccount();
  const instanceId = conversation.instance_id;
  const { data, error } = useInstance(instanceId);
  const isDeleted = error instanceof ApiError && error.code === 'not-found';
  const instance = isDeleted ? undefined : data;
  const restriction = useQuery({
    queryKey: [id, 'instances', 'restriction', instanceId],
    queryFn: async () => {
      const query = { search: instance!.name, limit: 200 };
      const { data } = await takeData(api.GET('/console/api/instances', { params: { query } }));
      return data.find((listed) => listed.id === instanceId)?.restricted_until ?? null;
    },
    enabled: instance !== undefined && can('overview:read'),
    refetchInterval: RARELY_MS,
  });
  const policy = useQuery({
    queryKey: [id, 'instance', instanceId, 'policy'],
    queryFn: () => gwk.instances.getPolicy(instanceId),
    enabled: instance !== undefined,
    refetchInterval: RARELY_MS,
  });
  if (!rows || (!instance && !isDeleted)) return null;
  return findObstacle({
    maySend: can('messages:send'),
    conversation,
    instance,
    restrictedUntil: restriction.data ?? null,
    hours: policy.data?.active_hours ?? null,
    lastReceived: findLastReceived(rows),
    // Read each minute.
    now: Math.max(policy.dataUpdatedAt, restriction.dataUpdatedAt),
  });
}
