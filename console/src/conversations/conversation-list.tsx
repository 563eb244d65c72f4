import { Badge, Button, Group, Paper, ScrollArea, Stack, Text, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useAccount } from '../app/account';
import { EmptyState } from '../ui/empty-state';
import type { useGrowing } from '../ui/growing';
import { InstanceSelect, useInstanceName } from '../ui/instance-select';
import { ProblemAlert } from '../ui/problem-alert';
import { QueryView } from '../ui/query-view';
import { Time } from '../ui/time';
import { conversationPath, showConversation } from './names';
import type { Conversation } from './obstacles';

interface ConversationListProps {
  list: ReturnType<typeof useGrowing<Conversation, string>>;
  number: string | null;
  setNumber: (number: string | null) => void;
  search: string;
  setSearch: (search: string) => void;
  /** The open conversation. */
  current: string | null;
}

/** Conversations, the most recently active first. */
export function ConversationList(props: ConversationListProps) {
  const { t } = useTranslation();
  const { list, number, setNumber, search, setSearch, current } = props;
  const isFiltered = number !== null || search !== '';
  return (
    <Paper withBorder p="sm" className="conversations-column">
      <Stack gap="xs" pb="sm">
        <TextInput
          label={t('conversations.search')}
          placeholder={t('conversations.searchHelp')}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
        <InstanceSelect value={number} onChange={setNumber} />
      </Stack>
      <ScrollArea
        flex={1}
        viewportProps={{ tabIndex: 0, 'aria-label': t('conversations.list'), role: 'region' }}
      >
        <QueryView query={list.query}>
          {({ rows }) =>
            rows.length === 0 ? (
              <EmptyState
                title={t(`conversations.${isFiltered ? 'noneFound' : 'empty'}`)}
                help={t(`conversations.${isFiltered ? 'noneFoundHelp' : 'emptyHelp'}`)}
              />
            ) : (
              <Items rows={rows} number={number} current={current} />
            )
          }
        </QueryView>
        <ProblemAlert error={list.error} />
        {list.hasOlder && (
          <Button variant="default" fullWidth loading={list.isLoadingOlder} onClick={list.loadOlder}>
            {t('common.more')}
          </Button>
        )}
      </ScrollArea>
    </Paper>
  );
}

interface ItemsProps extends Pick<ConversationListProps, 'number' | 'current'> {
  rows: readonly Conversation[];
}

function Items({ rows, number, current }: ItemsProps) {
  const sorted = rows.toSorted((a, b) => (a.active_at < b.active_at ? 1 : -1));
  return (
    <Stack component="ul" gap={2} m={0} p={0} style={{ listStyle: 'none' }}>
      {sorted.map((conversation) => (
        <li key={conversation.id}>
          <Item conversation={conversation} number={number} isCurrent={conversation.id === current} />
        </li>
      ))}
    </Stack>
  );
}

interface ItemProps extends Pick<ItemsProps, 'number'> {
  conversation: Conversation;
  isCurrent: boolean;
}

function Item({ conversation, number, isCurrent }: ItemProps) {
  const { t } = useTranslation();
  const { path } = useAccount();
  const nameOf = useInstanceName();
  const { id, instance_id, unread_count: unread, last_message: last, opted_out: hasOptedOut } = conversation;
  return (
    <Link
      to={path(conversationPath(id, number))}
      className="conversations-item"
      {...(isCurrent && { 'aria-current': 'true' as const })}
    >
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Text size="sm" fw={unread > 0 ? 700 : 500} truncate>
          {showConversation(conversation)}
        </Text>
        <Text size="xs" c="dimmed" style={{ flexShrink: 0 }}>
          <Time value={conversation.active_at} />
        </Text>
      </Group>
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Text size="xs" c={last?.status === 'failed' ? 'red' : 'dimmed'} truncate>
          <LastMessage last={last} />
          {hasOptedOut && ` · ${t('conversations.optedOut')}`}
          {number === null && ` · ${nameOf(instance_id)}`}
        </Text>
        {unread > 0 && (
          <Badge size="sm" aria-label={t('conversations.unread', { count: unread })}>
            {unread}
          </Badge>
        )}
      </Group>
    </Link>
  );
}

function LastMessage({ last }: { last: Conversation['last_message'] }) {
  const { t } = useTranslation();
  if (!last) return '–';
  const type = t(`messages.types.${last.type}`);
  if (last.direction === 'inbound') return type;
  return t('conversations.you', { text: `${type}, ${t(`messages.statuses.${last.status}`)}` });
}
