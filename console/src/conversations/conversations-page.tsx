import { Center, Paper, Text } from '@mantine/core';
import { useDebouncedValue, useMediaQuery } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'react-router';
import { useAccount } from '../app/account';
import { useFilter } from '../ui/filters';
import { useGrowing } from '../ui/growing';
import { LIVE_MS } from '../ui/live';
import { PageHeader } from '../ui/page-header';
import { QueryView } from '../ui/query-view';
import { ConversationList } from './conversation-list';
import './conversations.css';
import './texts';
import { conversationPath } from './names';
import type { Conversation } from './obstacles';
import { Thread } from './thread';
import { useLive } from './use-live';

const TYPING_MS = 300;

/** Lists the conversations of the numbers, and shows one with a box to answer in. A phone shows the list or the conversation. */
export default function ConversationsPage() {
  const { t } = useTranslation();
  const { id, path } = useAccount();
  const queries = useQueryClient();
  const [params] = useSearchParams();
  const [number, setNumber] = useFilter('number');
  const current = params.get('conversation');
  const [search, setSearch] = useState('');
  const isNarrow = useMediaQuery('(max-width: 48em)', undefined, { getInitialValueInEffect: false });
  const [instanceId, setInstanceId] = useState<string | null>(null);
  const keys = ['thread', 'conversations'].map((list) => ({ queryKey: [id, list] }));
  const interval = useLive(instanceId, {
    isLooking: () => keys.some((key) => queries.isFetching(key) > 0),
    onEvents: () => keys.forEach((key) => void queries.invalidateQueries(key)),
  });
  // The stream tells nothing about other numbers of the list.
  const list = useConversations(number, search, number === instanceId ? interval : LIVE_MS);
  const open = useConversation(current, interval);
  const watched = open.data?.instance_id ?? number;
  if (watched !== instanceId) setInstanceId(watched);
  const showsThread = current !== null;
  return (
    <div className="conversations">
      {!(isNarrow && showsThread) && <PageHeader title={t('conversations.title')} />}
      <div
        className="conversations-columns"
        style={isNarrow ? { gridTemplateColumns: 'minmax(0, 1fr)' } : {}}
      >
        {!(isNarrow && showsThread) && (
          <ConversationList
            list={list}
            number={number}
            setNumber={setNumber}
            search={search}
            setSearch={setSearch}
            current={current}
          />
        )}
        {showsThread &&
          (open.data ? (
            <Thread
              key={current}
              conversation={open.data}
              refetchInterval={interval}
              back={isNarrow ? path(conversationPath(null, number)) : null}
            />
          ) : (
            <QueryView query={open}>{() => null}</QueryView>
          ))}
        {!showsThread && !isNarrow && (
          <Paper withBorder className="conversations-column">
            <Center flex={1}>
              <Text c="dimmed">{t('conversations.choose')}</Text>
            </Center>
          </Paper>
        )}
      </div>
    </div>
  );
}

function useConversations(number: string | null, typed: string, refetchInterval: number) {
  const { id, gwk } = useAccount();
  const [search] = useDebouncedValue(typed.trim(), TYPING_MS);
  const filter = {
    ...(number !== null && { instance_id: number }),
    ...(search !== '' && { search }),
  };
  return useGrowing<Conversation, string>({
    queryKey: [id, 'conversations', filter],
    read: async (cursor) => {
      const query = { ...filter, ...(cursor !== null && { cursor }) };
      const { data, next_cursor } = await gwk.conversations.list(query);
      return { rows: data, cursor: next_cursor };
    },
    refetchInterval,
  });
}

/** One conversation, which the loaded list may not have. */
function useConversation(current: string | null, refetchInterval: number) {
  const { id, gwk } = useAccount();
  return useQuery({
    queryKey: [id, 'conversations', 'one', current],
    queryFn: () => gwk.conversations.get(current!),
    enabled: current !== null,
    refetchInterval,
  });
}
