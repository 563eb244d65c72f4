import { Alert, Button, Stack, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { IconPlus } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { takeData } from '../api/client';
import { useAccount } from '../app/account';
import { LANGUAGES } from '../i18n/setup';
import { ConfirmButton } from '../ui/confirm-button';
import { EmptyState } from '../ui/empty-state';
import { LIVE_MS } from '../ui/live';
import { PageHeader } from '../ui/page-header';
import { showPerson } from '../ui/person';
import { QueryView } from '../ui/query-view';
import { AddContact } from './add-contact';
import { VerifyForm, type AlertContact } from './verify-form';

const CHANNELS = ['email', 'whatsapp'] as const;

export default function AlertContactsPage() {
  const { t } = useTranslation();
  const { id, api } = useAccount();
  const [isAdding, { open, close }] = useDisclosure();
  const contacts = useQuery({
    queryKey: [id, 'alert-contacts'],
    queryFn: () => takeData(api.GET('/console/api/alert-contacts')),
    refetchInterval: LIVE_MS,
  });
  const add = (
    <Button leftSection={<IconPlus size={16} />} onClick={open}>
      {t('alertContacts.add')}
    </Button>
  );
  return (
    <>
      <PageHeader title={t('alertContacts.title')} subtitle={t('alertContacts.subtitle')}>
        {contacts.data?.data.length !== 0 && add}
      </PageHeader>
      <QueryView query={contacts}>
        {({ data, channels }) => (
          <Stack>
            {CHANNELS.filter((channel) => !channels[channel]).map((channel) => (
              <Alert key={channel} color="yellow">
                {t(`alertContacts.unavailable.${channel}`)}
              </Alert>
            ))}
            {data.length === 0 ? (
              <EmptyState title={t('alertContacts.empty')} help={t('alertContacts.emptyHelp')}>
                {add}
              </EmptyState>
            ) : (
              <ContactsTable contacts={data} />
            )}
          </Stack>
        )}
      </QueryView>
      <AddContact opened={isAdding} close={close} />
    </>
  );
}

function ContactsTable({ contacts }: { contacts: AlertContact[] }) {
  const { t } = useTranslation();
  return (
    <Table.ScrollContainer minWidth={640}>
      <Table verticalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('common.name')}</Table.Th>
            <Table.Th>{t('alertContacts.channel')}</Table.Th>
            <Table.Th>{t('common.state')}</Table.Th>
            <Table.Th>{t('common.actions')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {contacts.map((contact) => (
            <ContactRow key={contact.id} contact={contact} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function ContactRow({ contact }: { contact: AlertContact }) {
  const { t } = useTranslation();
  const { id, api } = useAccount();
  const queries = useQueryClient();
  const remove = async () => {
    await api.DELETE('/console/api/alert-contacts/{contact_id}', {
      params: { path: { contact_id: contact.id } },
    });
    await queries.invalidateQueries({ queryKey: [id, 'alert-contacts'] });
  };
  return (
    <Table.Tr>
      <Table.Td>
        <Text fw={600} className="wrap">
          {contact.name}
        </Text>
        <Text size="sm" c="dimmed" className="wrap">
          {contact.channel === 'whatsapp' ? showPerson({ id: contact.address }) : contact.address}
        </Text>
      </Table.Td>
      <Table.Td>
        {t(`alertContacts.channels.${contact.channel}`)}
        <Text size="sm" c="dimmed">
          {LANGUAGES[contact.language]}
        </Text>
      </Table.Td>
      <Table.Td>
        {contact.verified_at === null ? <VerifyForm contact={contact} /> : t('alertContacts.verified')}
      </Table.Td>
      <Table.Td>
        <ConfirmButton
          size="xs"
          label={t('alertContacts.remove')}
          title={t('alertContacts.removeTitle', { name: contact.name })}
          text={t('alertContacts.removeText')}
          action={remove}
        />
      </Table.Td>
    </Table.Tr>
  );
}
