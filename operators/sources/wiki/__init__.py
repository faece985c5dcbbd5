"""Wikis: folders of pages and MediaWiki dumps."""
