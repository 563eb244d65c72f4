import { Anchor, Box, Button, Select, Table, Text, TextInput } from '@mantine/core';
import { IconSend } from '@tabler/icons-react';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useNavigate } from 'react-router';
import { useAccount } from '../app/account';
import { EmptyState } from '../ui/empty-state';
import { useFilter } from '../ui/filters';
import { InstanceSelect, useInstanceName } from '../ui/instance-select';
import { PageHeader } from '../ui/page-header';
import { PagesView, usePages } from '../ui/pages';
import { PersonSelect, PersonText, readPeople } from '../ui/people';
import type { Person } from '../ui/person';
import { Time } from '../ui/time';
import { MESSAGE_TYPES } from './examples';
import { MESSAGE_STATUSES, StatusBadge, type Message } from './status-badge';

export default function MessagesPage() {
  const { t } = useTranslation();
  const { id, api, gwk, can, path } = useAccount();
  const [instance, setInstance] = useFilter('number');
  const [status, setStatus] = useFilter('status');
  const [type, setType] = useFilter('type');
  const [to, setTo] = useFilter('to');
  const query = {
    ...(instance !== null && { instance_id: instance }),
    ...(status !== null && { status: status as Message['status'] }),
    ...(type !== null && { type: type as Message['type'] }),
    ...(to !== null && { to }),
  };
  const pages = usePages([id, 'messages', query], async (cursor) => {
    const page = await gwk.messages.list({ ...query, ...(cursor !== undefined && { cursor }) });
    const findPerson = await readPeople(
      api,
      page.data.map((message) => message.to),
    );
    return { ...page, data: page.data.map((message) => ({ ...message, person: findPerson(message.to) })) };
  });
  const send = can('messages:send') && (
    <Button component={Link} to={path('messages/new')} leftSection={<IconSend size={16} />}>
      {t('messages.new')}
    </Button>
  );
  const isFiltered = Object.keys(query).length > 0;
  return (
    <>
      <PageHeader title={t('messages.title')} subtitle={t('messages.subtitle')}>
        {send}
      </PageHeader>
      <Box className="filters">
        <InstanceSelect value={instance} onChange={setInstance} />
        <Select
          label={t('common.state')}
          placeholder={t('common.all')}
          data={MESSAGE_STATUSES.map((value) => ({ value, label: t(`messages.statuses.${value}`) }))}
          value={status}
          onChange={setStatus}
          clearable
        />
        <Select
          label={t('messages.type')}
          placeholder={t('common.all')}
          data={LISTED_TYPES.map((value) => ({ value, label: t(`messages.types.${value}`) }))}
          value={type}
          onChange={setType}
          clearable
        />
        <PersonSelect label={t('messages.contact')} value={to} onChange={setTo} />
        <OpenById />
      </Box>
      <PagesView
        pages={pages}
        empty={
          <EmptyState
            title={t(isFiltered ? 'messages.noneFound' : 'messages.empty')}
            help={t(isFiltered ? 'messages.noneFoundHelp' : 'messages.emptyHelp')}
          >
            {!isFiltered && send}
          </EmptyState>
        }
      >
        {(rows) => <MessagesTable messages={rows} />}
      </PagesView>
    </>
  );
}

const LISTED_TYPES: readonly Message['type'][] = [...MESSAGE_TYPES, 'other'];

function OpenById() {
  const { t } = useTranslation();
  const { path } = useAccount();
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() !== '') void navigate(path(`messages/${text.trim()}`));
  };
  return (
    <form onSubmit={submit}>
      <TextInput
        label={t('messages.byId')}
        placeholder="msg_..."
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
    </form>
  );
}

function MessagesTable({ messages }: { messages: (Message & { person: Person })[] }) {
  const { t } = useTranslation();
  const { path } = useAccount();
  const nameOf = useInstanceName();
  return (
    <Table highlightOnHover verticalSpacing="sm">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t('messages.contact')}</Table.Th>
          <Table.Th>{t('common.state')}</Table.Th>
          <Table.Th visibleFrom="sm">{t('messages.type')}</Table.Th>
          <Table.Th visibleFrom="sm">{t('common.number')}</Table.Th>
          <Table.Th>{t('common.time')}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {messages.map((message) => (
          <Table.Tr key={message.id}>
            <Table.Td>
              <Anchor component={Link} to={path(`messages/${message.id}`)}>
                <PersonText person={message.person} />
              </Anchor>
              <Text size="xs" c="dimmed">
                {t(`messages.directions.${message.direction}`)}
              </Text>
            </Table.Td>
            <Table.Td>
              <StatusBadge status={message.status} />
            </Table.Td>
            <Table.Td visibleFrom="sm">{t(`messages.types.${message.type}`)}</Table.Td>
            <Table.Td visibleFrom="sm" className="wrap">
              {nameOf(message.instance_id)}
            </Table.Td>
            <Table.Td>
              <Time value={message.created_at} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
