import { Alert, Anchor, Group, Paper, Stack, Table, Text, Timeline, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link, useParams } from 'react-router';
import { useAccount } from '../app/account';
import { AboutMessage } from '../conversations/about-message';
import { CopyText } from '../ui/copy-text';
import { useInstanceName } from '../ui/instance-select';
import { LIVE_MS } from '../ui/live';
import { PageHeader } from '../ui/page-header';
import { PersonText, readPeople } from '../ui/people';
import type { Person } from '../ui/person';
import { QueryView } from '../ui/query-view';
import { formatTime } from '../ui/time';
import { MessageDeliveries } from './message-deliveries';
import { StatusBadge, type Message } from './status-badge';

export default function MessagePage() {
  const { id, api, gwk } = useAccount();
  const { message = '' } = useParams();
  const query = useQuery({
    queryKey: [id, 'message', message],
    queryFn: async () => {
      const found = await gwk.messages.get(message);
      return { message: found, person: (await readPeople(api, [found.to]))(found.to) };
    },
    refetchInterval: LIVE_MS,
  });
  const { t } = useTranslation();
  const { path } = useAccount();
  return (
    <>
      <PageHeader
        title={t('message.title')}
        back={{ to: path('messages'), label: t('messages.title') }}
        subtitle={query.data?.message.direction !== 'inbound' && t('message.notKept')}
      />
      <QueryView query={query}>{(found) => <Content {...found} />}</QueryView>
    </>
  );
}

interface ShownMessage {
  message: Message;
  person: Person;
}

function Content({ message, person }: ShownMessage) {
  const { t } = useTranslation();
  const { can } = useAccount();
  return (
    <Stack>
      <Group>
        <StatusBadge status={message.status} />
        <CopyText text={message.id} />
      </Group>
      {message.error && (
        <Alert color="red" title={t(`message.failures.${message.error.code}.title`)}>
          <Text size="sm">{t(`message.failures.${message.error.code}.advice`)}</Text>
          {message.error.message !== null && (
            <Text size="sm" c="dimmed" mt={4} className="wrap">
              {message.error.message}
            </Text>
          )}
        </Alert>
      )}
      <Group align="stretch" grow preventGrowOverflow={false}>
        <Steps message={message} />
        <Facts message={message} person={person} />
      </Group>
      <AboutMessage message={message} />
      {can('webhooks:read') && <MessageDeliveries messageId={message.id} />}
    </Stack>
  );
}

const STEPS = ['created_at', 'scheduled_for', 'sent_at', 'delivered_at', 'read_at', 'failed_at'] as const;

/** Steps of the message, the oldest first. */
function Steps({ message }: { message: Message }) {
  const { t, i18n } = useTranslation();
  const isInbound = message.direction === 'inbound';
  const steps = STEPS.flatMap((name) => {
    const time = message[name];
    return time ? [{ name, time }] : [];
  });
  return (
    <Paper withBorder p="lg" miw={280}>
      <Title order={2} size="h4" mb="md">
        {t('message.timeline')}
      </Title>
      <Timeline active={steps.length - 1} bulletSize={16} color={message.error ? 'red' : 'teal'}>
        {steps.map(({ name, time }) => (
          <Timeline.Item
            key={name}
            title={t(name === 'created_at' && isInbound ? 'message.steps.received' : `message.steps.${name}`)}
          >
            <Text size="sm" c="dimmed">
              {formatTime(time, i18n.language)}
            </Text>
          </Timeline.Item>
        ))}
      </Timeline>
    </Paper>
  );
}

function Facts({ message, person }: ShownMessage) {
  const { t } = useTranslation();
  const { path } = useAccount();
  const nameOf = useInstanceName();
  return (
    <Paper withBorder p="lg" miw={280}>
      <Table variant="vertical" layout="auto">
        <Table.Tbody>
          <Table.Tr>
            <Table.Th>{t('common.number')}</Table.Th>
            <Table.Td className="wrap">
              <Anchor component={Link} to={path(`numbers/${message.instance_id}`)}>
                {nameOf(message.instance_id)}
              </Anchor>
            </Table.Td>
          </Table.Tr>
          <Table.Tr>
            <Table.Th>{t('messages.contact')}</Table.Th>
            <Table.Td>
              <PersonText person={person} />
            </Table.Td>
          </Table.Tr>
          <Table.Tr>
            <Table.Th>{t('message.direction')}</Table.Th>
            <Table.Td>{t(`messages.directions.${message.direction}`)}</Table.Td>
          </Table.Tr>
          <Table.Tr>
            <Table.Th>{t('messages.type')}</Table.Th>
            <Table.Td>{t(`messages.types.${message.type}`)}</Table.Td>
          </Table.Tr>
          {message.rendered_as !== null && (
            <Table.Tr>
              <Table.Th>{t('message.renderedAs')}</Table.Th>
              <Table.Td>{message.rendered_as}</Table.Td>
            </Table.Tr>
          )}
          <Table.Tr>
            <Table.Th>{t('message.networkId')}</Table.Th>
            <Table.Td className="wrap">{message.wa_message_id ?? '–'}</Table.Td>
          </Table.Tr>
        </Table.Tbody>
      </Table>
    </Paper>
  );
}
